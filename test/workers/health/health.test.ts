import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { expect, test } from 'vitest';
import { addressToServe, hostAndPort, toAsk } from '../../../workers/health/address.ts';
import { serveHealth } from '../../../workers/health/health.ts';

const knowsIPv6 = Object.values(networkInterfaces()).some((all) => all!.some(({ family }) => family === 'IPv6'));
const LOOPBACKS = ['127.0.0.1', ...(knowsIPv6 ? ['::1'] : [])];

/** Asks at each of these addresses, and returns the answers. */
async function answers(listening: string, path: string, addresses = LOOPBACKS): Promise<string[]> {
  const health = { unready: () => undefined, metrics: () => Promise.resolve('a_metric 1\n'), config: () => ({}) };
  const server = await serveHealth({ address: listening, port: 0 }, health);
  const { port } = server.address() as AddressInfo;
  try {
    const asked = addresses.map((address) => fetch(`http://${hostAndPort({ address, port })}${path}`));
    return await Promise.all(asked.map(async (answer) => (await answer).text()));
  } finally {
    server.close();
    await once(server, 'close');
  }
}

test('`::` is every address, so that probes of pods with addresses of either family are answered', async () => {
  expect(await answers('::', '/readyz')).toEqual(LOOPBACKS.map(() => 'ok\n'));
});

test('a probe may have a query', async () => {
  expect(await answers('127.0.0.1', '/readyz?verbose', ['127.0.0.1'])).toEqual(['ok\n']);
  expect(await answers('127.0.0.1', '/metrics?name=drover', ['127.0.0.1'])).toEqual(['a_metric 1\n']);
});

test('a name is served at its address', async () => {
  expect(['127.0.0.1', '::1']).toContain(await addressToServe('localhost'));
});

test('a client on the same machine asks where a server listens', () => {
  const addresses = ['::', '0.0.0.0', '10.1.2.3', 'fd00::1'];
  expect(addresses.map((address) => hostAndPort(toAsk({ address, port: 8080 })))).toEqual([
    '127.0.0.1:8080',
    '127.0.0.1:8080',
    '10.1.2.3:8080',
    '[fd00::1]:8080',
  ]);
});
