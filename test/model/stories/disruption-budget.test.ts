import '../world/real-code.ts';
import { test } from 'vitest';
import { operate } from '../play/operate.ts';
import { aSpec, aTemplate } from '../pools.ts';
import { NAMESPACE } from '../world/names.ts';
import type { World } from '../world/world.ts';
import { begun, play } from './story.ts';

/** Starts a run that restarts the VMs of these numbers, from the first to the last. */
function restart(world: World, [from, to]: [number, number], maxUnavailable: number): void {
  const names = Array.from({ length: to - from + 1 }, (_, n) => `web-${n + from}`);
  const chosen = { [NAMESPACE]: Object.fromEntries(names.map((name) => [name, world.vmi(name)!.metadata.uid])) };
  const limits = { atOnce: maxUnavailable, maxFailures: 5, deadlineMs: 120_000 };
  operate(world, { action: 'Restart', chosen, ...limits, requestedBy: 'ann', reason: null });
}

test('two runs of restarts and a rollout together keep to the budget of the pool', () =>
  play(
    async (world) => {
      await begun(world, { replicas: 12, maxUnavailable: 1 });
      restart(world, [1, 4], 3);
      restart(world, [5, 8], 3);
      restart(world, [9, 12], 3);
      await world.wait(200_000);
    },
    { lag: 500 },
    4,
  ));

test('VMs that come up while their restart begins use the budget of the run like any other', () =>
  play(
    async (world) => {
      const template = aTemplate({ bootMs: 1_500 });
      await world.people.createPool('web', aSpec({ replicas: 12, maxUnavailable: '100%', template }));
      await world.until(() => world.vmi('web-12') !== undefined, 30_000);
      // They are to be older than the operation: times have whole seconds.
      await world.wait(world.time.between(1_100, 1_500));
      restart(world, [1, 12], 1);
      await world.wait(60_000);
    },
    {},
    12,
  ));

test('a VM that comes up while its update waits for KubeVirt uses the budget like any other', () =>
  play(
    async (world) => {
      await world.people.createPool(
        'web',
        aSpec({
          replicas: 7,
          maxUnavailable: 3,
          template: aTemplate({ bootMs: 4_000 }),
          rollout: { progressDeadlineSeconds: 60, maxFailures: 3 },
        }),
      );
      await world.until(() => world.vmi('web-7') !== undefined, 30_000);
      await world.wait(world.time.between(1_500, 3_500));
      await world.people.changePool('web', { template: aTemplate({ version: 3 }) });
      await world.wait(30_000);
    },
    { lag: 1_000 },
    6,
  ));
