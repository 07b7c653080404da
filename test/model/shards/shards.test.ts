import '../world/real-code.ts';
import { expect, test } from 'vitest';
import {
  ClusterVirtualMachineOperations,
  Namespaces,
  VirtualMachineInstances,
  VirtualMachinePools,
} from '../../../api/resources.ts';
import { field } from '../../../decisions/lib/json.ts';
import { portionOf, portionsOf, type Portion } from '../../../decisions/shards/portion.ts';
import type { StoredOperation } from '../../../decisions/views/stored-operation.ts';
import { poolIdOf, queueOfObject, taskQueueOf } from '../../../workflows/lib/messages.ts';
import { createBudget } from '../budgets/budgets.ts';
import { watchBudgets } from '../budgets/guarantee.ts';
import type { Pool } from '../facts.ts';
import { watched } from '../guarantees/watch.ts';
import { aSpec, aTemplate } from '../pools.ts';
import { crashLoop } from '../stories/crash-loop.ts';
import { CLUSTER, NAMESPACE, refOf } from '../world/names.ts';
import type { Worker } from '../world/worker.ts';
import { World, type WorldOptions } from '../world/world.ts';
import { ShardGuarantees } from './guarantee.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** Of two shards, each of these is in another. */
const OTHER = 'team-a';
const SPEC = aSpec({
  replicas: 4,
  maxUnavailable: 1,
  rollout: { progressDeadlineSeconds: 600 },
  autohealing: { startupFailureThreshold: 1, maxUnhealthy: '100%', backoff: { initial: '30s', jitter: 0 } },
});
const SEEDS = Number(process.env['RUNS'] ?? 2);

const poolIn = (world: World, namespace: string): Pool =>
  world.server.find(VirtualMachinePools, { namespace, name: namespace === NAMESPACE ? 'web' : 'app' }) as Pool;

/** Whether both pools are as their specs say, with VMs of so many cores. */
const areUpdated = (world: World, version: number) => (): boolean =>
  [NAMESPACE, OTHER].every((namespace) => {
    const { spec, status } = poolIn(world, namespace);
    return (
      field(spec, 'template', 'spec', 'template', 'spec', 'domain', 'cpu', 'cores') === version &&
      status?.updatedReplicas === spec.replicas &&
      status?.readyReplicas === spec.replicas
    );
  });

async function changeAll(world: World, version: number): Promise<void> {
  const template = aTemplate({ version, bootMs: 3_000 });
  await world.people.changePool('web', { template });
  world.server.write(VirtualMachinePools, { namespace: OTHER, name: 'app' }, (before) => ({
    ...before,
    spec: { ...(before['spec'] as object), template },
  }));
}

/** Has a VM fail until an attempt to heal it has begun. */
async function healing(world: World): Promise<void> {
  crashLoop(world, 'web-2');
  const isBegun = (): boolean => (poolIn(world, NAMESPACE).status?.healing?.cycles.length ?? 0) > 0;
  if (!(await world.until(isBegun, 10 * MINUTE))) world.break('web-2 is not healed');
}

/** Asks for a restart of all VMs of the cluster. */
function restartAll(world: World): () => StoredOperation {
  const { metadata } = world.server.create(ClusterVirtualMachineOperations, {
    metadata: { generateName: 'op-' },
    spec: { action: 'Restart', vms: { selector: {} }, atOnce: 2, maxFailures: 1, deadline: '20m' },
  });
  return () => world.server.find(ClusterVirtualMachineOperations, metadata) as unknown as StoredOperation;
}

/** Plays a pool in each of two shards, which are served by these workers. */
async function play(
  live: (world: World, shards: ShardGuarantees) => Promise<void>,
  options: Partial<WorldOptions>,
  portions: readonly (readonly Portion[])[],
): Promise<void> {
  expect(portionOf(NAMESPACE, 2)).not.toEqual(portionOf(OTHER, 2));
  for (let seed = 1; seed <= SEEDS; seed++) {
    const world = new World({ seed, operations: true, workers: 0, ...options });
    const shards = new ShardGuarantees(world, []);
    world.onlookers.push(shards);
    const begin = async (): Promise<void> => {
      for (const name of [NAMESPACE, OTHER]) world.server.create(Namespaces, { metadata: { name } });
      for (const taken of portions) await world.addWorker([...taken]);
      await world.people.createPool('web', SPEC);
      world.server.create(VirtualMachinePools, {
        metadata: { namespace: OTHER, name: 'app' },
        spec: { ...SPEC },
      });
      if (!(await world.until(areUpdated(world, 1), 3 * MINUTE))) world.break('the pools do not come up');
      await live(world, shards);
    };
    await world.run(4 * HOUR, watched(world, begin));
  }
}

const [WHOLE, FIRST, SECOND] = portionsOf(2) as [Portion, Portion, Portion];

/** Kills a worker, and starts another that takes the same. */
function replace(world: World, worker: Worker, portions: readonly Portion[], afterMs: number): void {
  world.kill(worker);
  void world.wait(afterMs).then(() => world.addWorker([...portions]));
}

const living = (world: World): Worker[] => world.workers.filter(({ process }) => process.state === 'running');

test('each pool is planned by workers of its shard alone, under kills, and an operation over the cluster by one that takes it', () =>
  play(
    async (world, shards) => {
      const taken = [[FIRST], [SECOND], [WHOLE]];
      await changeAll(world, 2);
      await world.wait(3_000);
      for (const portions of taken) {
        const worker = living(world).find(({ queues }) => queues.has(taskQueueOf(CLUSTER, portions[0])));
        replace(world, worker!, portions, 10_000);
        await world.wait(15_000);
      }
      const operation = restartAll(world);
      await world.wait(5_000);
      replace(world, living(world).at(-1)!, [WHOLE], 5_000);
      const isDone = (): boolean => operation().status?.completionTime !== undefined;
      if (!(await world.until(isDone, HOUR))) world.break(`the operation does not end: ${JSON.stringify(operation())}`);
      if (!(await world.until(areUpdated(world, 2), HOUR))) world.break('G12: the pools are not updated');
      expect(operation().status?.vms).toMatchObject({ open: 0 });
      shards.expectPlansOfOwn(2);
      if (!(await world.until(() => shards.isInPlace(2), 5 * MINUTE))) world.break('G51: something is out of place');
    },
    { shards: 2 },
    [[FIRST], [SECOND], [WHOLE]],
  ));

test('a workflow that someone sends to a queue which nobody polls is brought back', () =>
  play(
    async (world, shards) => {
      const id = poolIdOf(refOf('web'));
      world.temporal.signal(id, 'changed', [{ shards: 50 }]);
      const isAway = (): boolean => world.temporal.runs.get(id)?.queue === queueOfObject(CLUSTER, NAMESPACE, 50);
      if (!(await world.until(isAway, MINUTE))) world.break('the workflow does not leave');
      if (!(await world.until(() => shards.isInPlace(2), 2 * MINUTE))) world.break('G51: something is out of place');
    },
    { shards: 2 },
    [[FIRST], [SECOND], [WHOLE]],
  ));

test.each([
  ['take everything', (shards: number) => [portionsOf(shards), portionsOf(shards)]],
  ['take a shard each', (shards: number) => portionsOf(shards).map((portion) => [portion])],
])('a changed number of shards loses nothing of a rollout, a heal and operations, if workers %s', (_what, takenOf) =>
  play(
    async (world, shards) => {
      let version = 1;
      for (const number of [2, 1]) {
        await healing(world);
        await changeAll(world, ++version);
        const operation = restartAll(world);
        await world.wait(4_000);
        const former = living(world);
        world.divide(number);
        await world.wait(8_000);
        for (const portions of takenOf(number)) await world.addWorker(portions);
        await world.wait(20_000);
        for (const worker of former) world.kill(worker);
        const isDone = (): boolean => operation().status?.completionTime !== undefined;
        if (!(await world.until(isDone, HOUR)))
          world.break(`the operation does not end: ${JSON.stringify(operation())}`);
        if (!(await world.until(areUpdated(world, version), HOUR)))
          world.break(`G12: the pools are not updated: ${JSON.stringify(poolIn(world, NAMESPACE).status)}`);
        if (!(await world.until(() => shards.isInPlace(number), 10 * MINUTE)))
          world.break(
            `G51: something is out of place: ${JSON.stringify([...world.temporal.runs.values()].filter(({ isOpen }) => isOpen).map(({ id, queue }) => [id, queue]))}`,
          );
      }
      expect(world.server.all(VirtualMachineInstances)).toHaveLength(2 * SPEC.replicas!);
    },
    {},
    [portionsOf(1), portionsOf(1)],
  ),
);

test('a cluster-wide budget holds over two shards: workers that know only one of them disrupt nothing under it', () =>
  play(
    async (world) => {
      const guarantees = watchBudgets(world);
      createBudget(world, 'all', { maxUnavailable: 1, selector: {} });
      await world.wait(30_000);
      await changeAll(world, 2);
      await world.wait(MINUTE);
      expect(guarantees.checked).toBe(0);
      for (const portion of [FIRST, SECOND]) {
        const worker = living(world).find(({ queues }) => queues.has(taskQueueOf(CLUSTER, portion)));
        world.kill(worker!);
        await world.addWorker([portion], true);
      }
      if (!(await world.until(areUpdated(world, 2), HOUR))) world.break('G12: the pools are not updated');
      expect(guarantees.checked).toBeGreaterThanOrEqual(2 * SPEC.replicas!);
    },
    { shards: 2, budgets: true },
    [[FIRST], [SECOND], [WHOLE]],
  ));
