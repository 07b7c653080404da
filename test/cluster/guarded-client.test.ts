import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { KubeConfig } from '@kubernetes/client-node';
import { expect, onTestFinished, test } from 'vitest';
import { Namespaces, VirtualMachines } from '../../api/resources.ts';
import type { GivenCluster } from './given/given.ts';
import { GuardedClient } from './given/guarded-client.ts';

test('a test writes objects in a namespace that it made, and its verbs are not judged as calls by path', async () => {
  const asked: string[] = [];
  const server = createServer(({ method }, response) => {
    asked.push(method!);
    response.writeHead(200).end('{"metadata":{"name":"test-1"}}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const config = new KubeConfig();
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  config.loadFromClusterAndUser({ name: 'it', server: address, skipTLSVerify: true }, { name: 'it' });
  const client = new GuardedClient(config, {
    run: 'r',
    home: 'h',
    hasStandIn: false,
    lacks: [],
  } as unknown as GivenCluster);
  onTestFinished(async () => {
    await client.close();
    server.close();
  });
  await client.create(Namespaces, { metadata: { name: 'test-1' } });
  const key = { namespace: 'test-1', name: 'web-1' };
  asked.length = 0;
  await client.create(VirtualMachines, { metadata: key });
  await client.patch(VirtualMachines, key, 'merge', {});
  await client.delete(VirtualMachines, key);
  expect(asked).toEqual(['POST', 'PATCH', 'DELETE']);
});
