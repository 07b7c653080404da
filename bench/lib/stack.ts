import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { connectTemporal, type Temporal } from '../../clients/session/temporal.ts';
import { setup } from '../../clients/setup/setup.ts';
import type { Stack } from '../../dev/embedded-stack.ts';
import { startStack } from '../../dev/stack.ts';
import { KubeClient } from '../../kubernetes/client.ts';
import { loadKubeConfig } from '../../kubernetes/config.ts';
import { spawnReaped } from '../../test/reaped.ts';

export const workerMain = join(import.meta.dirname, '../../workers/main.ts');

export interface Bench {
  stack: Stack;
  kube: KubeClient;
  temporal: Temporal;
  workerPid: number;
  /** Stops the worker and starts another, which has to list everything that the first one had received or created. */
  restartWorker: () => Promise<void>;
}

interface BenchOptions {
  simulator?: boolean;
  /** For the worker, on top of the stack's environment. */
  workerEnv?: Record<string, string>;
  /** Arguments for Node to run a worker, flags first; by default its sources. */
  workerCommand?: string[];
}

/** Runs a measurement on its own stack, with one worker. */
export async function onStack(measure: (bench: Bench) => Promise<void>, options: BenchOptions = {}): Promise<void> {
  const state = mkdtempSync(join(tmpdir(), 'drover-bench-'));
  const ends: (() => Promise<unknown>)[] = [
    async () => rmSync(state, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }),
  ];
  try {
    await Promise.race([start(state, options, ends).then(measure), interruption()]);
  } finally {
    for (const end of ends.toReversed()) await end();
  }
}

/** Adds whatever it starts to `ends` at once, so that it is cleaned up even if a later step fails. */
async function start(state: string, options: BenchOptions, ends: (() => Promise<unknown>)[]): Promise<Bench> {
  const { simulator = false, workerEnv = {}, workerCommand = [workerMain] } = options;
  const stack = await startStack({ state, ephemeral: true, simulator, worker: false });
  ends.push(() => stack.stop());
  const kube = new KubeClient(loadKubeConfig({ kubeconfig: stack.kubeconfig }), {
    connections: 64,
    fieldManager: 'bench',
  });
  ends.push(() => kube.close());
  const temporal = await connectTemporal({ address: stack.temporalAddress });
  ends.push(() => temporal.connection.close());
  await setup({ kube, temporal, cluster: 'default', say: () => {} });
  const another = (): Promise<ChildProcess> => startWorker({ ...stack.env, ...workerEnv }, workerCommand);
  let worker = await another();
  ends.push(() => endWorker(worker));
  const bench: Bench = {
    stack,
    kube,
    temporal,
    workerPid: worker.pid!,
    restartWorker: async () => {
      await endWorker(worker);
      worker = await another();
      bench.workerPid = worker.pid!;
    },
  };
  return bench;
}

/** Rejects on SIGINT or SIGTERM, so that everything started is stopped in order and no folder is left. */
async function interruption(): Promise<never> {
  const [signal] = (await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])) as [string];
  throw new Error(`ended by ${signal}`);
}

/** Resolves when the worker is ready. */
async function startWorker(env: Record<string, string>, command: string[]): Promise<ChildProcess> {
  const worker = spawnReaped(process.execPath, command, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  for await (const line of createInterface({ input: worker.stderr! })) if (line.includes('"worker ready"')) break;
  worker.stderr!.resume();
  return worker;
}

async function endWorker(worker: ChildProcess): Promise<void> {
  if (worker.exitCode !== null || worker.signalCode !== null) return;
  worker.kill('SIGTERM');
  await once(worker, 'exit');
}
