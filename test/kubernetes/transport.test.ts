import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { KubeConfig } from '@kubernetes/client-node';
import { expect, onTestFinished, test } from 'vitest';
import { Transport, withoutRemark } from '../../kubernetes/transport.ts';

/** Returns how a server that answers 503 with this `Retry-After` has a call end. */
async function refusedWith(retryAfter: string): Promise<unknown> {
  const server = createServer((_request, response) => {
    response.writeHead(503, { 'retry-after': retryAfter }).end('busy');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const config = new KubeConfig();
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  config.loadFromClusterAndUser({ name: 'it', server: address, skipTLSVerify: true }, { name: 'it' });
  const transport = new Transport(config);
  onTestFinished(async () => {
    await transport.close();
    server.close();
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

const REMARK =
  '<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; ' +
  'correct the existing errors to complete validation';

test('what the API server adds to every fault of an object is left out, and nothing else', () => {
  const fault = 'VirtualMachine.kubevirt.io "web-0" is invalid: [spec.domain.devices: Required value';
  expect(withoutRemark(`${fault}, ${REMARK}]`)).toBe(`${fault}]`);
  expect(withoutRemark(`${fault}, ${REMARK.replace('null', '"null"')}]`)).toBe(`${fault}]`);
  expect(withoutRemark(`${fault}, spec.x: Invalid value: null]`)).toBe(`${fault}, spec.x: Invalid value: null]`);
});
