import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setup } from '../clients/setup.ts';
import { connectTemporal, type Temporal } from '../clients/temporal.ts';
import { startStack, type Stack } from '../dev/stack.ts';
import { KubeClient } from '../kubernetes/client.ts';
import { loadKubeConfig } from '../kubernetes/config.ts';

export interface Bench {
  stack: Stack;
  kube: KubeClient;
  temporal: Temporal;
  workerPid: number;
}

/** Runs a measurement on a stack of its own, and one worker beside it. */
export async function onStack(measure: (bench: Bench) => Promise<void>, { simulator = false } = {}): Promise<void> {
  const state = mkdtempSync(join(tmpdir(), 'drover-bench-'));
  const ends: (() => Promise<unknown>)[] = [async () => rmSync(state, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })];
  try {
    const stack = await startStack({ state, ephemeral: true, simulator, worker: false });
    ends.push(() => stack.stop());
    const kube = new KubeClient(loadKubeConfig({ kubeconfig: stack.kubeconfig }), { connections: 64, fieldManager: 'bench' });
    ends.push(() => kube.close());
    const temporal = await connectTemporal({ address: stack.temporalAddress });
    ends.push(() => temporal.connection.close());
    await setup({ kube, temporal, cluster: 'default', say: () => {} });
    const worker = spawn(process.execPath, [join(import.meta.dirname, '../workers/main.ts')], {
      env: { ...process.env, ...stack.env },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    ends.push(() => {
      worker.kill('SIGTERM');
      return once(worker, 'exit');
    });
    for await (const line of createInterface({ input: worker.stderr })) if (line.includes('"worker ready"')) break;
    worker.stderr.resume();
    await measure({ stack, kube, temporal, workerPid: worker.pid! });
  } finally {
    for (const end of ends.toReversed()) await end();
  }
}
