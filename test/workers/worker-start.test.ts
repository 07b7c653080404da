import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { follow, outcomeOf } from '../clients/drover.ts';
import { spawnReaped } from '../reaped.ts';

const MAIN = new URL('../../workers/main.ts', import.meta.url).pathname;

const startWorker = (env: NodeJS.ProcessEnv) =>
  spawnReaped(process.execPath, [MAIN], {
    env: { PATH: process.env['PATH'], HOME: '/nonexistent', ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });

/** Accepts connections and says nothing, as a frozen server does. */
async function frozenServer(): Promise<string> {
  const server = createServer((socket) => socket.on('error', () => {}).resume()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('a worker says that Temporal keeps it waiting, and ends meanwhile if it is asked to', async () => {
  const address = await frozenServer();
  const worker = startWorker({ TEMPORAL_ADDRESS: address, KUBERNETES_SERVICE_HOST: '127.0.0.1' });
  const outcome = outcomeOf(worker);
  // In the middle of an attempt to connect, which Temporal's client gives half a minute.
  await follow(worker.stderr!)('it has said nothing yet');
  const askedAt = performance.now();
  worker.kill('SIGTERM');
  expect(await outcome).toMatchObject({ code: 0, signal: null });
  expect(performance.now() - askedAt).toBeLessThan(15_000);
});

test('a worker without the workflows that it is to run ends at its start', async () => {
  const worker = startWorker({ DROVER_WORKFLOW_BUNDLE: '/nonexistent/workflows.js' });
  expect(await outcomeOf(worker)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("DROVER_WORKFLOW_BUNDLE=/nonexistent/workflows.js: can't be read: no such file"),
  });
});
