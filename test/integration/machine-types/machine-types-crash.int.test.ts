import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished } from 'vitest';
import { seeded, seedOf } from '../../seeded.ts';
import { soak, testOneOf } from '../../soak.ts';
import { chaosProxy, type Fate } from '../chaos-proxy.ts';
import { aFleet, namesUpTo } from '../fleet.ts';
import { lose } from '../operations/operations.ts';
import { HeldVmis } from '../power/held-vmis.ts';
import { ReadinessWatch } from '../readiness-watch.ts';
import { TypedVms, NEW, OLD, type Shape, type TestTransition } from './machine-types.ts';

const fleet = aFleet({ workers: 0, ownStack: true });
/** A transition without progress for this long is stuck: Temporal and KubeVirt retry sooner. */
const STUCK_AFTER_MS = 90_000;
const LOOK_MS = 20;
const MOST = 3;

/** VMs of the old type, and an independent watch of them. */
interface Scene {
  typedVms: TypedVms;
  watch: ReadinessWatch;
  stopped: string[];
  running: string[];
}

async function aScene(counts: { stopped: number; running: number }): Promise<Scene> {
  const stopped = namesUpTo('off', counts.stopped);
  const running = namesUpTo('on', counts.running);
  const typedVms = await TypedVms.empty(fleet());
  const strategies = ['Always', 'Once', 'Manual', 'RerunOnFailure'];
  const shapes: [string, Shape][] = [
    ...stopped.map((name): [string, Shape] => [name, { runStrategy: 'Halted' }]),
    ...running.map((name, n): [string, Shape] => [
      name,
      { runStrategy: strategies[n % strategies.length]!, simulation: { 'sim.drover.dev/boot-time': '500ms' } },
    ]),
  ];
  const connection = async (): Promise<void> => {
    for (let next = shapes.shift(); next !== undefined; next = shapes.shift()) await typedVms.add(...next);
  };
  await Promise.all(Array.from({ length: 16 }, connection));
  await typedVms.ready(running);
  const watch = await ReadinessWatch.start(fleet().kube, typedVms.namespace);
  onTestFinished(() => watch.stop());
  await watch.startRecording();
  return { typedVms, watch, stopped, running };
}

const patchedIn = ({ watch }: Scene): number =>
  [...watch.log.machines().values()].filter((states) => states.at(-1)?.type !== OLD).length;
const restartedIn = ({ watch, running }: Scene): number =>
  running.reduce((sum, name) => sum + watch.log.restartsOf(name).length, 0);

/**
 * Resolves shortly after the count is reached. Throws if it is complete by then, as nothing is in the middle any more,
 * or if it is not reached in time.
 */
async function reached(transition: TestTransition, count: () => number, atLeast: number, all: number): Promise<void> {
  const deadline = Date.now() + STUCK_AFTER_MS;
  while (count() < atLeast) {
    if (Date.now() > deadline)
      throw new Error(`only ${count()} of ${atLeast}: ${JSON.stringify(await transition.progress())}`);
    await sleep(LOOK_MS);
  }
  expect(count()).toBeLessThan(all);
}

/**
 * Waits until the transition ends by itself. Each VM was patched once, each VMI restarted once, and the limit always
 * held.
 */
async function expectDone(context: Scene, transition: TestTransition, { gaps = false } = {}): Promise<void> {
  const { typedVms, watch, stopped, running } = context;
  const all = [...stopped, ...running];
  const progress = await transition.result();
  expect(progress).toMatchObject({ phase: 'Complete', failed: [], failures: 0, inProgress: [] });
  expect(progress.counts).toEqual({
    toPatch: 0,
    toRestart: 0,
    waiting: 0,
    inPools: 0,
    deferred: 0,
    restarting: 0,
    excluded: 0,
    done: all.length,
  });
  await watch.caughtUp();
  if (!gaps) expect(watch.gaps).toEqual([]);
  const seen = watch.log.machines();
  const record = expect.stringContaining(`"id":"${transition.id}"`) as string;
  for (const name of stopped)
    expect({ name, states: seen.get(name) }).toEqual({
      name,
      states: [
        { type: OLD, mark: null, record: null },
        { type: NEW, mark: null, record },
      ],
    });
  for (const name of running) {
    const states = seen.get(name)!;
    expect({ name, states }).toEqual({
      name,
      states: [
        { type: OLD, mark: null, record: null },
        { type: NEW, mark: transition.id, record },
        { type: NEW, mark: null, record },
      ],
    });
    // The record is written once, together with the type.
    expect(states[1]!.record).toBe(states[2]!.record);
    expect({
      name,
      restarts: watch.log.restartsOf(name).length,
      history: watch.log.restartsOf(name).length === 1 ? [] : watch.log.history(name),
    }).toEqual({
      name,
      restarts: 1,
      history: [],
    });
    expect((await typedVms.vmi(name))?.status?.machine?.type).toBe(NEW);
  }
  const peak = watch.log.peak();
  expect(peak.unavailable > MOST ? peak : null).toBeNull();
}

async function workerKilledInPatches(): Promise<void> {
  const random = seeded(seedOf());
  // A slow API server and few calls at once, so that each kill comes in the middle even on a fast machine.
  const slow = await chaosProxy(fleet().workerKubeconfig, async (method): Promise<Fate> => {
    if (method === 'PATCH') await sleep(400);
    return 'pass';
  });
  const env = { KUBECONFIG: slow.kubeconfig, ...soak({}, { DROVER_CONCURRENCY: '10' }) };
  let worker = await fleet().startWorker(env);
  const stopped = soak(1_000, 60);
  const context = await aScene({ stopped, running: 6 });
  const transition = await context.typedVms.change({ to: NEW, restartNow: true, maxRestarts: MOST });
  const kills = Array.from({ length: soak(5, 2) }, () => 1 + Math.floor(random() * stopped * 0.6)).sort(
    (a, b) => a - b,
  );
  for (const atLeast of kills) {
    await reached(transition, () => patchedIn(context), atLeast, stopped + 6);
    await worker.kill();
    worker = await fleet().startWorker(env);
  }
  await expectDone(context, transition);
  await worker.stop();
}

async function workerKilledInRestarts(): Promise<void> {
  const random = seeded(seedOf());
  let worker = await fleet().startWorker();
  const running = soak(30, 18);
  const context = await aScene({ stopped: 10, running });
  const transition = await context.typedVms.change({ to: NEW, restartNow: true, maxRestarts: MOST });
  // Up to two rounds of three may come back before the kill, and three more VMs after it, so some are still left.
  const kills = Array.from({ length: soak(10, 2) }, () => ({
    restarts: Math.floor(random() * (running - 10)),
    later: random() * 700,
  }));
  for (const { restarts, later } of kills.sort((a, b) => a.restarts - b.restarts)) {
    await reached(transition, () => restartedIn(context), restarts, running);
    await sleep(later);
    await worker.kill();
    worker = await fleet().startWorker();
  }
  await expectDone(context, transition);
  await worker.stop();
}

async function temporalKilled(): Promise<void> {
  const worker = await fleet().startWorker();
  const context = await aScene({ stopped: soak(600, 100), running: soak(18, 12) });
  const all = context.stopped.length + context.running.length;
  const transition = await context.typedVms.change({ to: NEW, restartNow: true, maxRestarts: MOST });
  const killed = async (): Promise<void> => {
    fleet().stack.kill('temporal', 'SIGKILL');
    await fleet().stack.restart('temporal');
  };
  await reached(transition, () => patchedIn(context), soak(100, 30), all);
  await killed();
  await reached(transition, () => restartedIn(context), 3, context.running.length);
  await killed();
  await expectDone(context, transition);
  await worker.stop();
}

async function temporalLost(): Promise<void> {
  const worker = await fleet().startWorker();
  const context = await aScene({ stopped: soak(600, 60), running: soak(18, 12) });
  const all = context.stopped.length + context.running.length;
  const transition = await context.typedVms.change({ to: NEW, restartNow: true, maxRestarts: MOST });
  await reached(transition, () => patchedIn(context), 20, all);
  await lose(fleet(), transition.operation);
  await reached(transition, () => restartedIn(context), 3, context.running.length);
  await lose(fleet(), transition.operation);
  await transition.operation.stands('Complete');
  await expectDone(context, transition);
  await worker.stop();
}

async function objectDeleted(): Promise<void> {
  const worker = await fleet().startWorker();
  const context = await aScene({ stopped: 5, running: 12 });
  const { typedVms, running, watch } = context;
  const vmis = await HeldVmis.of(fleet(), typedVms.namespace);
  const transition = await typedVms.change({ to: NEW, restartNow: true, maxRestarts: MOST });
  await vmis.ending(MOST);
  await transition.operation.delete();
  await transition.until({ aborted: { reason: 'the operation was deleted' } });
  await vmis.letGo();
  expect(await transition.result()).toMatchObject({
    phase: 'Aborted',
    aborted: { reason: 'the operation was deleted' },
    inProgress: [],
  });
  await watch.caughtUp();
  expect(restartedIn(context)).toBe(MOST);
  for (const name of running) expect(await typedVms.mark(name)).toBeUndefined();
  await worker.stop();
}

async function apiServerGone(): Promise<void> {
  const worker = await fleet().startWorker();
  const context = await aScene({ stopped: 10, running: soak(18, 12) });
  const transition = await context.typedVms.change({ to: NEW, restartNow: true, maxRestarts: MOST });
  await reached(transition, () => restartedIn(context), 3, context.running.length);
  fleet().stack.kill('kube-apiserver', 'SIGKILL');
  await sleep(soak(20_000, 15_000));
  await fleet().stack.restart('kube-apiserver');
  // The watch missed only what was created and deleted before it listed again: it would have seen a second VMI that
  // stayed.
  await expectDone(context, transition, { gaps: true });
  await worker.stop();
}

testOneOf(
  {
    'the worker is killed again and again in the middle of the patches': workerKilledInPatches,
    'the worker is killed again and again in the middle of the restarts': workerKilledInRestarts,
    'Temporal is killed in the middle of the patches, and of the restarts': temporalKilled,
    'what Temporal has lost in the middle begins again from the object': temporalLost,
    'the object is deleted in the middle of the restarts': objectDeleted,
    'the API server is gone for a while in the middle of the restarts': apiServerGone,
  },
  { timeout: 600_000 },
);
