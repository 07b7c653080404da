import '../../world/real-code.ts';
import { expect, test } from 'vitest';
import { activityNow, isByWorker } from '../../facts.ts';
import { aTemplate } from '../../pools.ts';
import type { World } from '../../world/world.ts';
import { begun, play, statusOf } from '../story.ts';

const VMS = 24;
const AT_ONCE = 6;
const BOOT_MS = 20_000;

const isComplete = (world: World) => (): boolean => {
  const { rollout, observedGeneration } = statusOf(world) ?? {};
  return observedGeneration === world.pool('web')!.metadata.generation && rollout?.completedAt !== undefined;
};

test('a rollout keeps its budget in use, calls the API server four times a VM, and plans once a second at most', () =>
  play(
    async (world) => {
      await begun(world, { replicas: VMS, maxUnavailable: AT_ONCE, template: aTemplate({ bootMs: BOOT_MS }) });
      let calls = 0;
      let batches = 0;
      const plans: number[] = [];
      world.onlookers.push({
        onCall: (call) => {
          if (isByWorker(call) && activityNow() === 'updateVms' && call.resource?.plural !== 'events') calls++;
        },
        onPlan: () => void plans.push(world.time.now),
        onBegin: ({ type }) => void (batches += Number(type === 'updateBatch')),
      });
      await world.people.changePool('web', { template: aTemplate({ version: 2, bootMs: BOOT_MS }) });
      const began = world.time.now;
      expect(await world.until(isComplete(world), 600_000)).toBe(true);
      const tookMs = world.time.now - began;

      expect(batches).toBe(1);
      expect(tookMs).toBeLessThan(1.15 * BOOT_MS * (VMS / AT_ONCE));
      // Some more for the batch as a whole, and where others have written meanwhile.
      expect(calls).toBeLessThan(5 * VMS);
      expect(plans.length).toBeLessThan(1.2 * (tookMs / 1_000));
    },
    { lag: 50 },
  ));
