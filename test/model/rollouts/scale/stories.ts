import { aTemplate } from '../../pools.ts';
import { amid, change, MINUTE, roll, someDown, type Stories } from '../story.ts';

export const stories: Stories = {
  'scale-out in the middle': amid('5 VMs, maxUnavailable 2; 8 are wanted', (stage) => change(stage, { replicas: 8 })),
  'scale-in in the middle': amid('5 VMs, maxUnavailable 2; 3 are wanted', (stage) => change(stage, { replicas: 3 })),
  'the pool is deleted': {
    about: '4 VMs, maxUnavailable 2',
    spec: { replicas: 4, maxUnavailable: 2, template: aTemplate({ bootMs: 5_000 }) },
    live: async (stage) => {
      const { world, log } = stage;
      await roll(stage, { version: 2, bootMs: 5_000 });
      await someDown(stage);
      log.person('delete the pool');
      await world.deletePool('web');
      await world.until(() => world.pool('web') === undefined, 5 * MINUTE);
    },
  },
  'the pool is deleted without its VMs': {
    about: '4 VMs, maxUnavailable 2',
    spec: { replicas: 4, maxUnavailable: 2, template: aTemplate({ bootMs: 5_000 }) },
    live: async (stage) => {
      const { world, log } = stage;
      await roll(stage, { version: 2, bootMs: 5_000 });
      await someDown(stage);
      log.person('delete the pool, --cascade=orphan');
      await world.deletePool('web', true);
      await world.until(() => world.pool('web') === undefined, 5 * MINUTE);
      await world.wait(20_000);
    },
  },
};
