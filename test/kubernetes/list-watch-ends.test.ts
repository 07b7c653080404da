import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { KubeConfig } from '@kubernetes/client-node';
import { expect, onTestFinished, test, vi } from 'vitest';
import { KubeClient } from '../../kubernetes/client.ts';
import { ListWatch } from '../../kubernetes/list-watch.ts';
import { VirtualMachines } from '../../kubernetes/resources.ts';

test('a server that ends every watch as soon as it begins is asked ever more seldom', async () => {
  const watches: number[] = [];
  const server = createServer((request, response) => {
    const isWatch = request.url!.includes('watch=true');
    if (isWatch) watches.push(Date.now());
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(isWatch ? '' : JSON.stringify({ metadata: { resourceVersion: '1' }, items: [] }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const config = new KubeConfig();
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  config.loadFromClusterAndUser({ name: 'it', server: address, skipTLSVerify: true }, { name: 'it' });
  const client = new KubeClient(config);
  const listWatch = new ListWatch({ client, resource: VirtualMachines, view: (vm) => vm.metadata.uid }).start();
  onTestFinished(async () => {
    await listWatch.stop();
    await client.close();
    server.close();
  });
  await vi.waitFor(() => expect(watches.length).toBeGreaterThanOrEqual(4), { timeout: 10_000 });
  // 250 ms, 500 ms and 1 s, each a quarter more or less.
  expect(watches[3]! - watches[0]!).toBeGreaterThan(1_200);
});
