import { MINUTE, regular, roll, type Stories } from '../story.ts';

export const stories: Stories = {
  'none goes down before another has come up': regular('4 VMs, maxUnavailable 0, maxSurge 1', {
    replicas: 4,
    maxUnavailable: 0,
    maxSurge: 1,
  }),
  'an extra VM fails, and the rollout is undone': {
    about: '4 VMs, maxUnavailable 0, maxSurge 1, onFailure Undo; VMs of B never get ready',
    spec: {
      replicas: 4,
      maxUnavailable: 0,
      maxSurge: 1,
      rollout: { progressDeadlineSeconds: 30, onFailure: 'Undo' },
    },
    live: async (stage) => {
      await roll(stage, { version: 2, neverReady: true });
      await stage.world.wait(2 * MINUTE);
    },
  },
};
