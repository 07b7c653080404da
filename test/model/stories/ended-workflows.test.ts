import '../world/real-code.ts';
import { describe, expect, test } from 'vitest';
import { ownerIdOf, poolIdOf, type PoolProgress } from '../../../workflows/messages.ts';
import { aStep } from '../../decisions/fixtures/rollout-pools.ts';
import { createSet } from '../play/sets.ts';
import { aTemplate } from '../pools.ts';
import { SETS } from '../sets.ts';
import { refOf } from '../world/names.ts';
import type { World } from '../world/world.ts';
import { crashLoop } from './crash-loop.ts';
import { begun, isReady, play, statusOf } from './story.ts';

const MINUTE_MS = 60_000;

type End = 'cancelled' | 'terminated';

/** Ends a workflow as people do in Temporal's Web UI. */
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

test('a pool whose workflow is asked to cancel goes on, hears people, and says so', () =>
  play(async (world) => {
    await begun(world, { replicas: 2 });
    const id = poolIdOf(refOf('web'));
    endWorkflow(world, id, 'cancelled');
    await world.wait(2_000);
    const said = world.temporal.query(id, 'progress') as PoolProgress;
    expect(said.recentErrors.at(-1)?.message).toMatch(/cancellation was requested .* changes nothing/);
    world.people.signal('web', 'pause', { by: 'ann' });
    expect(await world.until(() => statusOf(world)?.rollout?.paused?.by === 'ann', MINUTE_MS)).toBe(true);
    await world.people.changePool('web', { replicas: 3 });
    expect(await world.until(isReady(world, 3), MINUTE_MS)).toBe(true);
  }));
