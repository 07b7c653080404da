import '../../world/real-code.ts';
import { expect, test } from 'vitest';
import { VirtualMachines } from '../../../../api/resources.ts';
import { activityNow, isByWorker } from '../../facts.ts';
import { NAMESPACE } from '../../world/names.ts';
import type { World } from '../../world/world.ts';
import { crashLoop } from '../crash-loop.ts';
import { begun, play, statusOf } from '../story.ts';

const FLAPS = 300;
const FLAP_MS = 200;
const SECONDS = (FLAPS * FLAP_MS) / 1_000;

/** Has KubeVirt say something else of the VM. */
const flap = (world: World, name: string, ready: boolean): void =>
  void world.server.write(
    VirtualMachines,
    { namespace: NAMESPACE, name },
    (vm) => ({ ...vm, status: { ...(vm['status'] as object), ready } }),
    'status',
  );

/** As many events as all histories have, about. */
const eventsIn = (world: World): number => world.temporal.past.reduce((sum, { events }) => sum + events, 0);

test('a pool with two sick VMs plans and writes its status once a second at most, and fills no history', () =>
  play(
    async (world) => {
      const backoff = { initial: '30m', max: '30m', jitter: 0 };
      await begun(world, { replicas: 6, autohealing: { startupFailureThreshold: 2, maxUnhealthy: '100%', backoff } });
      for (const name of ['web-1', 'web-2']) crashLoop(world, name);
      expect(await world.until(() => (statusOf(world)?.healing?.cycles.length ?? 0) > 0, 300_000)).toBe(true);
      let [plans, writes] = [0, 0];
      world.onlookers.push({
        onCall: ({ verb, ...call }) =>
          void (writes += Number(isByWorker({ verb, ...call }) && activityNow() === 'plan' && verb === 'patch')),
        onPlan: () => void plans++,
      });
      const before = eventsIn(world);
      for (let n = 0; n < FLAPS; n++) {
        flap(world, 'web-3', n % 2 === 1);
        await world.wait(FLAP_MS);
      }
      expect(plans).toBeLessThan(1.3 * SECONDS);
      expect(writes).toBeLessThan(SECONDS);
      expect(eventsIn(world) - before).toBeLessThan(12 * SECONDS);
    },
    { lag: 50 },
  ));
