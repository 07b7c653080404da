/* oxlint-disable unicorn/no-thenable -- the word is the user's */
import { ask, completed, MINUTE, roll, updated, type Stories } from '../story.ts';

export const stories: Stories = {
  canary: {
    about: '5 VMs, maxUnavailable 2, a step of 1 VM that waits for approval',
    spec: { replicas: 5, maxUnavailable: 2, rollout: { steps: [{ to: 1, then: { approval: {} } }] } },
    live: async (stage) => {
      await roll(stage, { version: 2 });
      await updated(stage.world, 1);
      await stage.world.wait(5 * MINUTE);
      await ask(stage, 'promote');
      await completed(stage);
    },
  },
  'steps that wait': {
    about: '6 VMs, maxUnavailable 3, steps of 1 VM and of 50 % that wait for a minute each',
    spec: {
      replicas: 6,
      maxUnavailable: 3,
      rollout: {
        steps: [
          { to: 1, then: { wait: '1m' } },
          { to: '50%', then: { wait: '1m' } },
        ],
      },
    },
    live: async (stage) => {
      await roll(stage, { version: 2 });
      await completed(stage);
    },
  },
  'promoted through all steps': {
    about: '6 VMs, maxUnavailable 3, steps of 1 VM and of 50 % that wait for approval',
    spec: {
      replicas: 6,
      maxUnavailable: 3,
      rollout: {
        steps: [
          { to: 1, then: { approval: {} } },
          { to: '50%', then: { approval: {} } },
        ],
      },
    },
    live: async (stage) => {
      await roll(stage, { version: 2 });
      await updated(stage.world, 1);
      await ask(stage, 'promote', { full: true });
      await completed(stage);
    },
  },
};
