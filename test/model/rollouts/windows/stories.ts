import { aTemplate } from '../../pools.ts';
import { completed, MINUTE, roll, type Stories } from '../story.ts';

export const stories: Stories = {
  'a maintenance window': {
    about: '3 VMs, maxUnavailable 1; a window opens at five past for 10 minutes',
    spec: { replicas: 3, maxUnavailable: 1, rollout: { windows: [{ cron: '5 * * * *', duration: '10m' }] } },
    live: async (stage) => {
      await roll(stage, { version: 2 });
      await completed(stage);
    },
  },
  'a window that closes': {
    about: '4 VMs that boot in 40 s, maxUnavailable 1; a window opens at five past for a minute',
    spec: {
      replicas: 4,
      maxUnavailable: 1,
      template: aTemplate({ bootMs: 40_000 }),
      rollout: { windows: [{ cron: '5 * * * *', duration: '1m' }] },
    },
    live: async (stage) => {
      await roll(stage, { version: 2, bootMs: 40_000 });
      await completed(stage, 4 * 60 * MINUTE);
    },
  },
};
