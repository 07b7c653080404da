import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { KubeConfig } from '@kubernetes/client-node';
import { expect, onTestFinished, test } from 'vitest';
import { Transport, withoutRemark } from '../../kubernetes/transport.ts';

/** Returns a transport to a server that answers each call so. */
async function transportTo(answer: RequestListener): Promise<Transport> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const config = new KubeConfig();
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  config.loadFromClusterAndUser({ name: 'it', server: address, skipTLSVerify: true }, { name: 'it' });
  const transport = new Transport(config);
  onTestFinished(async () => {
    await transport.close();
    server.close();
  });
  return transport;
}

/** Returns how a server that answers 503 with this `Retry-After` has a call end. */
async function refusedWith(retryAfter: string): Promise<unknown> {
  const transport = await transportTo((_request, response) => {
    response.writeHead(503, { 'retry-after': retryAfter }).end('busy');
  });
  return transport.json({ method: 'GET', path: '/' }).catch((error: unknown) => error);
}

test.each([
  ['2', 2_000],
  ['30', 30_000],
  ['3600', 30_000],
  ['-5', 0],
  ['Wed, 21 Oct 2026 07:28:00 GMT', undefined],
])('a server that asks to be left alone for %s is, but not for long', async (retryAfter, retryAfterMs) => {
  expect(await refusedWith(retryAfter)).toMatchObject({ status: 503, message: 'busy', retryAfterMs });
});

const aheadOf = ({ clock }: Transport): number => clock.now() - Date.now();

test("the server's clock is learned from its answers, and not from refusals", async () => {
  const hour = 3_600_000;
  const transport = await transportTo(({ url }, response) => {
    const [status, ahead] = url === '/refused' ? [503, -hour] : [200, hour];
    response.writeHead(status, { date: new Date(Date.now() + ahead).toUTCString() }).end('{}');
  });
  await transport.json({ method: 'GET', path: '/refused' }).catch(() => undefined);
  expect(Math.abs(aheadOf(transport))).toBeLessThan(100);
  await transport.json({ method: 'GET', path: '/' });
  expect(Math.abs(aheadOf(transport) - hour)).toBeLessThan(5_000);
});

const REMARK =
  '<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; ' +
  'correct the existing errors to complete validation';

test('what the API server adds to every fault of an object is left out, and nothing else', () => {
  const fault = 'VirtualMachine.kubevirt.io "web-0" is invalid: [spec.domain.devices: Required value';
  expect(withoutRemark(`${fault}, ${REMARK}]`)).toBe(`${fault}]`);
  expect(withoutRemark(`${fault}, ${REMARK.replace('null', '"null"')}]`)).toBe(`${fault}]`);
  expect(withoutRemark(`${fault}, spec.x: Invalid value: null]`)).toBe(`${fault}, spec.x: Invalid value: null]`);
});
