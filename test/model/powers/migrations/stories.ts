import { begin, ended, losesWorker, MINUTE, type Stories } from '../story.ts';

export const stories: Stories = {
  'migrate two at a time': {
    about: '5 VMs that run',
    lone: 5,
    live: async (stage) => ended(stage, begin(stage, 'Migrate')),
  },
  'migrate within the budget of a pool': {
    about: '4 VMs of a pool, of which one may be down',
    pools: { web: { replicas: 4, maxUnavailable: 1 } },
    live: async (stage) => ended(stage, begin(stage, 'Migrate', { atOnce: 3 })),
  },
  'migrate with a worker lost in the middle': {
    about: '5 VMs that run, 1 worker',
    lone: 5,
    options: { workers: 1 },
    live: async (stage) => {
      const { world } = stage;
      const id = begin(stage, 'Migrate', { deadlineMs: 5 * MINUTE });
      await world.wait(3_000);
      await losesWorker(stage);
      await ended(stage, id);
    },
  },
};
