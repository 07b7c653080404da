import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { KubeClient } from '../../kubernetes/client.ts';

test('credentials that were renewed in the kubeconfig are used once those before are rejected', async () => {
  let accepted = 'old';
  const server = createServer(({ headers }, response) => {
    response.writeHead(headers.authorization === `Bearer ${accepted}` ? 200 : 401).end('{}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const folder = mkdtempSync(join(tmpdir(), 'drover-kubeconfig-'));
  const kubeconfig = join(folder, 'config');
  const write = (token: string, current = 'it'): void =>
    writeFileSync(
      kubeconfig,
      JSON.stringify({
        clusters: [
          { name: 'it', cluster: { server: address, 'insecure-skip-tls-verify': true } },
          { name: 'other', cluster: { server: 'http://127.0.0.1:1' } },
        ],
        users: [{ name: 'it', user: { token } }],
        contexts: ['it', 'other'].map((name) => ({ name, context: { cluster: name, user: 'it' } })),
        'current-context': current,
      }),
    );
  write('old');
  const client = KubeClient.of({ kubeconfig }, {});
  onTestFinished(async () => {
    await client.close();
    server.close();
    rmSync(folder, { recursive: true });
  });
  const ask = (): Promise<object> => client.request({ method: 'GET', path: '/api' });
  expect(await ask()).toEqual({});
  accepted = 'new';
  await expect(ask()).rejects.toMatchObject({ status: 401 });
  // Meanwhile, the user has gone over to another cluster.
  write('new', 'other');
  expect(await ask()).toEqual({});
});
