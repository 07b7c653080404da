import { aTemplate } from '../../pools.ts';
import { amid, change, MINUTE, roll, someDown, type Stage, type Stories, type Story } from '../story.ts';

/** A pool of 4 VMs that is deleted while two of them restart. */
const deleted = (command: string, act: (stage: Stage) => Promise<unknown>): Story => ({
  about: '4 VMs, maxUnavailable 2',
  spec: { replicas: 4, maxUnavailable: 2, template: aTemplate({ bootMs: 5_000 }) },
  live: async (stage) => {
    await roll(stage, { version: 2, bootMs: 5_000 });
    await someDown(stage);
    stage.log.person(command);
    await act(stage);
  },
});

const untilGone = ({ world }: Stage): Promise<unknown> =>
  world.until(() => world.pool('web') === undefined, 5 * MINUTE);

export const stories: Stories = {
  'scale-out in the middle': amid('5 VMs, maxUnavailable 2; 8 are wanted', (stage) => change(stage, { replicas: 8 })),
  'scale-in in the middle': amid('5 VMs, maxUnavailable 2; 3 are wanted', (stage) => change(stage, { replicas: 3 })),
  'the pool is deleted': deleted('delete the pool', async (stage) => {
    await stage.world.people.deletePool('web');
    await untilGone(stage);
  }),
  'the pool is deleted without its VMs': deleted('delete the pool, --cascade=orphan', async (stage) => {
    await stage.world.people.deletePool('web', true);
    await untilGone(stage);
    await stage.world.wait(20_000);
  }),
};
