import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { KubeConfig } from '@kubernetes/client-node';
import { expect, onTestFinished, test } from 'vitest';
import { headersToImpersonate, type Impersonated } from '../../kubernetes/lib/impersonation.ts';
import { Transport } from '../../kubernetes/transport.ts';

/** Returns the header lines about impersonation of a call and of a watch, as the API server gets them. */
async function linesSent(impersonate: Impersonated | undefined, user: object = {}): Promise<string[][]> {
  const lines: string[][] = [];
  const server = createServer(({ rawHeaders }, response) => {
    const pairs = rawHeaders.flatMap((name, index) => (index % 2 === 0 ? [[name, rawHeaders[index + 1]!]] : []));
    lines.push(
      pairs
        .filter(([name]) => name!.toLowerCase().startsWith('impersonate-'))
        .map(([name, value]) => `${name!.toLowerCase()}: ${Buffer.from(value!, 'latin1').toString('utf8')}`),
    );
    response.end('{}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const config = new KubeConfig();
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  config.loadFromClusterAndUser({ name: 'it', server: address, skipTLSVerify: true }, { name: 'it', ...user });
  const transport = new Transport(config, { impersonate });
  onTestFinished(async () => {
    await transport.close();
    server.close();
  });
  await transport.json({ method: 'POST', path: '/', body: {} });
  for await (const _ of await transport.stream({ method: 'GET', path: '/' })) void _;
  return lines;
}

test('each request says in whose name it is, with a line for each group', async () => {
  const lines = ['impersonate-user: jürgen@example.com', 'impersonate-group: a,b', 'impersonate-group: ops'];
  expect(await linesSent({ user: 'jürgen@example.com', groups: ['a,b', 'ops'] })).toEqual([lines, lines]);
});

test('whom the kubeconfig impersonates is not who is meant', async () => {
  const as = { impersonateUser: 'root', impersonateGroups: ['system:masters'] };
  expect(await linesSent({ user: 'ada', groups: [] }, as)).toEqual([
    ['impersonate-user: ada'],
    ['impersonate-user: ada'],
  ]);
  expect((await linesSent(undefined, as))[0]).toContain('impersonate-user: root');
});

test('impersonation needs the name of a user', () => {
  expect(() => headersToImpersonate({ user: '', groups: ['ops'] })).toThrow('no user to impersonate');
});
