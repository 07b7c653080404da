import '../world/real-code.ts';
import { describe, expect, test } from 'vitest';
import { ownerIdOf, poolIdOf, watchIdOf, type PoolProgress } from '../../../workflows/lib/messages.ts';
import { aStep } from '../../decisions/fixtures/rollout-pools.ts';
import { createSet } from '../play/sets.ts';
import { aTemplate } from '../pools.ts';
import { SETS } from '../sets.ts';
import { CLUSTER, refOf } from '../world/names.ts';
import type { World } from '../world/world.ts';
import { crashLoop } from './crash-loop.ts';
import { begun, isReady, play, statusOf } from './story.ts';

const MINUTE_MS = 60_000;
/** Signals make a run end soon. */
const longHistory = 60;

type End = 'cancelled' | 'terminated';

/** Ends a workflow as users do in Temporal's Web UI. */
const endWorkflow = (world: World, id: string, how: End): void => {
  world.say(`-- ${id} is ${how}`);
  if (how === 'cancelled') expect(world.temporal.cancel(id)).toBe(true);
  else world.temporal.terminate(id);
};

describe.each<End>(['cancelled', 'terminated'])('while nothing else happens, a workflow that is %s', (how) => {
  test('is at work again within a minute at a timed step of a rollout', () =>
    play(async (world) => {
      await begun(world, { replicas: 4, rollout: { steps: [aStep(1, { wait: '2m' })] } });
      await world.people.changePool('web', { template: aTemplate({ version: 2 }) });
      expect(await world.until(() => statusOf(world)?.rollout?.stepReachedAt !== undefined, MINUTE_MS)).toBe(true);
      endWorkflow(world, poolIdOf(refOf('web')), how);
      expect(await world.until(() => statusOf(world)?.updatedReplicas === 4, 4 * MINUTE_MS)).toBe(true);
    }));

  test('makes a VM again whose healing waits for a delay', () =>
    play(async (world) => {
      const backoff = { initial: '40s', jitter: 0 };
      await begun(world, { replicas: 3, autohealing: { startupFailureThreshold: 1, maxUnhealthy: '100%', backoff } });
      crashLoop(world, 'web-2');
      const phase = (): string | undefined => statusOf(world)?.healing?.cycles[0]?.phase;
      expect(await world.until(() => phase() === 'Waiting', 5 * MINUTE_MS)).toBe(true);
      endWorkflow(world, poolIdOf(refOf('web')), how);
      expect(await world.until(() => world.vm('web-2') !== undefined, 100_000)).toBe(true);
    }));

  test('keeps the VMs of a replica set', () =>
    play(
      async (world) => {
        const kind = 'VirtualMachineReplicaSet';
        const id = ownerIdOf(kind, refOf(SETS[kind]));
        await createSet(world, { kind, replicas: 2, bootMs: 500, stopMs: 100 });
        await world.wait(30_000);
        endWorkflow(world, id, how);
        expect(await world.until(() => world.temporal.runs.get(id)!.isOpen, MINUTE_MS)).toBe(true);
      },
      { owners: ['VirtualMachinePool', 'VirtualMachineReplicaSet'] },
    ));
});

test.each<End>(['cancelled', 'terminated'])(
  'a watch that is %s while the last workers die is begun again by others',
  (how) =>
    play(async (world) => {
      await begun(world, { replicas: 2 });
      endWorkflow(world, watchIdOf(CLUSTER), how);
      for (const worker of world.workers) world.kill(worker);
      await world.people.changePool('web', { replicas: 3 });
      await world.wait(20_000);
      await world.addWorker();
      expect(await world.until(isReady(world, 3), MINUTE_MS)).toBe(true);
    }),
);

test('a pool whose workflow is asked to cancel continues, hears users, and says so', () =>
  play(async (world) => {
    await begun(world, { replicas: 2 });
    const id = poolIdOf(refOf('web'));
    endWorkflow(world, id, 'cancelled');
    await world.wait(2_000);
    const said = world.temporal.query(id, 'progress') as PoolProgress;
    expect(said.recentErrors.at(-1)?.message).toMatch(/cancellation was requested .* changes nothing/);
    await world.people.rollout('web', 'pause');
    expect(await world.until(() => statusOf(world)?.rollout?.paused?.by === 'ann', MINUTE_MS)).toBe(true);
    await world.people.changePool('web', { replicas: 3 });
    expect(await world.until(isReady(world, 3), MINUTE_MS)).toBe(true);
  }));

const openChild = (world: World, type: string) =>
  [...world.temporal.runs.values()].find((run) => run.type === type && run.isOpen);

/** Signals the pool's workflow until its next run has begun. */
async function untilContinued(world: World): Promise<void> {
  const { runId } = world.temporal.runs.get(ID)!;
  while (world.temporal.runs.get(ID)!.runId === runId) {
    world.temporal.signal(ID, 'changed', []);
    await world.wait(300);
  }
}

test.each<End>(['cancelled', 'terminated'])(
  'a batch that is %s in the middle of its VMs holds up its rollout for less than a minute',
  (how) =>
    play(async (world) => {
      const template = { bootMs: 20_000 };
      await begun(world, { replicas: 4, maxUnavailable: 1, template: aTemplate(template) });
      await world.people.changePool('web', { template: aTemplate({ ...template, version: 2 }) });
      expect(await world.until(() => (statusOf(world)?.updatedReplicas ?? 0) === 2, 2 * MINUTE_MS)).toBe(true);
      const { id } = openChild(world, 'updateBatch')!;
      endWorkflow(world, id, how);
      expect(await world.until(() => world.temporal.runs.get(id)?.isOpen === false, MINUTE_MS)).toBe(true);
      const isNext = (): boolean => (openChild(world, 'updateBatch')?.id ?? id) !== id;
      expect(await world.until(isNext, MINUTE_MS)).toBe(true);
      expect(await world.until(() => statusOf(world)?.rollout?.completedAt !== undefined, 3 * MINUTE_MS)).toBe(true);
    }),
);

test('a batch of a workflow of the pool that was terminated gives way to the next one', () =>
  play(async (world) => {
    const template = { bootMs: 15_000 };
    await begun(world, { replicas: 6, maxUnavailable: 1, template: aTemplate(template) });
    await world.people.changePool('web', { template: aTemplate({ ...template, version: 2 }) });
    expect(await world.until(() => (statusOf(world)?.updatedReplicas ?? 0) === 2, 2 * MINUTE_MS)).toBe(true);
    const { id } = openChild(world, 'updateBatch')!;
    endWorkflow(world, poolIdOf(refOf('web')), 'terminated');
    expect(await world.until(() => world.temporal.runs.get(id)?.isOpen === false, 2 * MINUTE_MS)).toBe(true);
    expect(statusOf(world)!.updatedReplicas).toBeLessThan(6);
    expect(await world.until(() => statusOf(world)?.rollout?.completedAt !== undefined, 5 * MINUTE_MS)).toBe(true);
  }));

describe('after the run that has started it,', () => {
  test('a batch that is terminated holds up its rollout for less than a minute', () =>
    play(
      async (world) => {
        await begun(world, { replicas: 2, maxUnavailable: 1 });
        await world.people.changePool('web', { template: aTemplate({ version: 2 }) });
        expect(await world.until(() => openChild(world, 'updateBatch') !== undefined, MINUTE_MS)).toBe(true);
        const { id } = openChild(world, 'updateBatch')!;
        await untilContinued(world);
        endWorkflow(world, id, 'terminated');
        const isNext = (): boolean => (openChild(world, 'updateBatch')?.id ?? id) !== id;
        expect(await world.until(isNext, MINUTE_MS)).toBe(true);
        expect(await world.until(() => statusOf(world)?.updatedReplicas === 2, 5 * MINUTE_MS)).toBe(true);
      },
      // It is terminated before it has touched any VM.
      { longHistory, delays: { updateVms: MINUTE_MS } },
    ));

  test('an attempt to heal a VM that is terminated is begun again within a minute', () =>
    play(
      async (world) => {
        const backoff = { initial: '10m', jitter: 0 };
        await begun(world, { replicas: 3, autohealing: { startupFailureThreshold: 1, maxUnhealthy: '100%', backoff } });
        crashLoop(world, 'web-2');
        const phase = (): string | undefined => statusOf(world)?.healing?.cycles[0]?.phase;
        expect(await world.until(() => phase() === 'Waiting', 5 * MINUTE_MS)).toBe(true);
        await untilContinued(world);
        const { id, runId } = openChild(world, 'healVm')!;
        await world.wait(5_000);
        endWorkflow(world, id, 'terminated');
        const isNext = (): boolean => (openChild(world, 'healVm')?.runId ?? runId) !== runId;
        expect(await world.until(isNext, MINUTE_MS)).toBe(true);
      },
      { longHistory },
    ));
});

const ID = poolIdOf(refOf('web'));

/**
 * Resolves at a moment in which the pool's workflow has just continued as new, with what puts that back: the workflows
 * that run now begin anew.
 */
async function backup(world: World): Promise<() => void> {
  await untilContinued(world);
  const open = [...world.temporal.runs.values()].filter(({ isOpen, type }) => isOpen && type !== 'watch');
  return () => {
    world.say('-- Temporal is put back');
    for (const { id, type, args } of open) {
      world.temporal.terminate(id);
      world.temporal.start(type, id, args);
    }
  };
}

const updated = (world: World): number | undefined => statusOf(world)?.updatedReplicas;

test.each(['pause', 'abort'] as const)('a rollout stays where it was when Temporal is restored: %s', (ask) =>
  play(
    async (world) => {
      await begun(world, { replicas: 6, maxUnavailable: 1, rollout: { steps: [aStep(1, { wait: '2m' })] } });
      await world.people.changePool('web', { template: aTemplate({ version: 2 }) });
      expect(await world.until(() => statusOf(world)?.rollout?.stepReachedAt !== undefined, MINUTE_MS)).toBe(true);
      const putBack = await backup(world);
      await world.people.rollout('web', ask);
      const isHeard = (): boolean =>
        ask === 'pause'
          ? statusOf(world)?.rollout?.paused !== undefined
          : statusOf(world)?.rollout?.halted?.kind === 'Aborted';
      expect(await world.until(isHeard, MINUTE_MS)).toBe(true);
      putBack();
      await world.wait(10 * MINUTE_MS);
      if (!isHeard() || updated(world) !== 1) world.break(`G33: ${JSON.stringify(statusOf(world)?.rollout)}`);
      await world.people.rollout('web', 'resume');
      expect(await world.until(() => updated(world) === 6, 10 * MINUTE_MS)).toBe(true);
    },
    { longHistory },
  ),
);

test('requests right after Temporal was restored count too', () =>
  play(
    async (world) => {
      await begun(world, { replicas: 3, maxUnavailable: 1, autohealing: {} });
      const putBack = await backup(world);
      await world.people.changePool('web', { template: aTemplate({ version: 2 }) });
      expect(await world.until(() => updated(world) === 3, 2 * MINUTE_MS)).toBe(true);
      putBack();
      await world.people.rollout('web', 'pause');
      await world.people.heal('web', { action: 'pause' });
      const isPaused = (): boolean =>
        statusOf(world)?.rollout?.paused?.by === 'ann' && statusOf(world)?.healing?.paused?.by === 'ann';
      expect(await world.until(isPaused, MINUTE_MS)).toBe(true);
    },
    { longHistory },
  ));

test('the healing of a VM stays paused when Temporal is restored', () =>
  play(
    async (world) => {
      await begun(world, { replicas: 2, autohealing: { startupFailureThreshold: 1, maxUnhealthy: '100%' } });
      const putBack = await backup(world);
      await world.people.heal('web', { action: 'pause' });
      const isPaused = (): boolean => statusOf(world)?.healing?.paused?.by === 'ann';
      expect(await world.until(isPaused, MINUTE_MS)).toBe(true);
      const { uid } = world.vm('web-2')!.metadata;
      putBack();
      crashLoop(world, 'web-2');
      await world.wait(10 * MINUTE_MS);
      if (!isPaused() || world.vm('web-2')?.metadata.uid !== uid) world.break('G33: web-2 is replaced');
    },
    { longHistory },
  ));
