import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { nowhere } from '../drover.ts';
import { droverHere } from '../in-process.ts';

test('what the API server warns of in a write is printed by the command that writes, once', async () => {
  const node = { metadata: { name: 'worker-7', uid: 'u', resourceVersion: '1' }, spec: { unschedulable: true } };
  const server = createServer(({ method, url }, response) => {
    const warning = method === 'GET' ? {} : { warning: '299 - "nodes are for administrators"' };
    const body =
      method === 'POST'
        ? { status: { allowed: true } }
        : url?.endsWith('/worker-7')
          ? node
          : { metadata: {}, items: [] };
    response.writeHead(200, { 'content-type': 'application/json', ...warning }).end(JSON.stringify(body));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const folder = mkdtempSync(join(tmpdir(), 'drover-'));
  onTestFinished(() => {
    server.close();
    rmSync(folder, { recursive: true });
  });
  const kubeconfig = join(folder, 'kubeconfig');
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'it', cluster: { server: address, 'insecure-skip-tls-verify': true } }],
      contexts: [{ name: 'it', context: { cluster: 'it' } }],
      'current-context': 'it',
    }),
  );
  const { code, stderr } = await droverHere(['drain', 'cancel', 'worker-7'], { ...nowhere, KUBECONFIG: kubeconfig });
  expect({ code, stderr }).toEqual({ code: 0, stderr: 'Warning: nodes are for administrators\n' });
});
