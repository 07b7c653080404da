import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'vitest';
import { chaosProxy, type Fate } from './chaos-proxy.ts';
import { aFleet, type TestWorker } from './fleet.ts';
import { HealedPool, QUICK, withFastStarts, type Lives } from './healings.ts';

const fleet = aFleet({ ephemeral: false, workers: 0 });
withFastStarts(fleet);

const RULES = { ...QUICK, backoff: { initial: '4s', jitter: 0 } };

/** One VM of that name, with storage of its own that no earlier one had; the others are as they were. */
async function expectHealed(pool: HealedPool, lives: Lives): Promise<void> {
  await pool.untilSpent(2, { end: 'Healed', attempts: 1 });
  await pool.pool.until({ replicas: 3, readyReplicas: 3 });
  lives.expectFresh(2, 2);
  for (const number of [1, 3]) lives.expectFresh(number, 1);
}

const phases = ['Removing', 'Waiting', 'Provisioning'] as const;

/** A pool whose cycle is in this phase, and stays there for a moment; `letGo` lets its VM go where it is held back. */
async function inPhase(phase: (typeof phases)[number]): Promise<{ pool: HealedPool; lives: Lives; letGo: () => Promise<void> }> {
  const pool = await HealedPool.ready(fleet(), { replicas: 3, autohealing: RULES });
  const lives = await pool.lives();
  const letGo = phase === 'Removing' ? await pool.holdBack(2) : async (): Promise<void> => {};
  if (phase === 'Provisioning') await pool.pool.patch({ rollout: { minReadySeconds: 3 } });
  await pool.break(2);
  await pool.untilCycle(2, { phase });
  return { pool, lives, letGo };
}

test.each(phases)('the worker is killed while a cycle is %s: exactly one VM of that name, with fresh storage', async (phase) => {
  let worker: TestWorker = await fleet().startWorker();
  const { pool, lives, letGo } = await inPhase(phase);
  await worker.kill();
  await letGo();
  // What happens while nobody looks is found by the next.
  await sleep(500);
  worker = await fleet().startWorker();
  await expectHealed(pool, lives);
  await worker.stop();
});

test.each<[string, (method: string, path: string) => boolean, Fate]>([
  ['has been asked to delete the VM, and before it hears that it was done', (method, path) => method === 'DELETE' && path.includes('/web-2'), 'drop-answer'],
  ['asks to delete the VM', (method, path) => method === 'DELETE' && path.includes('/web-2'), 'drop-call'],
  ['has made the new VM, and before it hears of it', (method, path) => method === 'POST' && path.includes('/virtualmachines'), 'drop-answer'],
])('the worker is killed as it %s', async (_moment, isIt, fate) => {
  const first = await fleet().startWorker();
  const pool = await HealedPool.ready(fleet(), { replicas: 3, autohealing: { ...QUICK, backoff: { initial: '300ms', jitter: 0 } } });
  const lives = await pool.lives();
  await first.kill();
  const met = Promise.withResolvers<void>();
  const dying = await chaosProxy(fleet().stack.kubeconfig, (method, path): Fate => {
    if (!isIt(method, path)) return 'pass';
    met.resolve();
    return fate;
  });
  const second = await fleet().startWorker({ KUBECONFIG: dying.kubeconfig });
  await pool.break(2);
  await met.promise;
  await second.kill();
  const third = await fleet().startWorker();
  await expectHealed(pool, lives);
  await third.stop();
});

test.each(phases)('Temporal is killed while a cycle is %s, and comes back: exactly one VM of that name, with fresh storage', async (phase) => {
  const worker = await fleet().startWorker();
  const { pool, lives, letGo } = await inPhase(phase);
  fleet().stack.kill('temporal', 'SIGKILL');
  await letGo();
  await fleet().stack.restart('temporal');
  await expectHealed(pool, lives);
  await worker.stop();
});
