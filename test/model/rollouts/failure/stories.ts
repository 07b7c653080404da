import { completed, MINUTE, roll, type Stories, type Story, type Stage } from '../story.ts';

const failing = (
  onFailure: 'Pause' | 'Undo' | 'Continue',
  about: string,
  then?: (stage: Stage) => Promise<void>,
): Story => ({
  about,
  spec: { replicas: 4, maxUnavailable: 2, rollout: { progressDeadlineSeconds: 30, onFailure } },
  live: async (stage) => {
    await roll(stage, { version: 2, neverReady: true });
    await stage.world.wait(2 * MINUTE);
    await then?.(stage);
  },
});

export const stories: Stories = {
  'a failing revision pauses': failing('Pause', '4 VMs, maxUnavailable 2, onFailure Pause; VMs of B never get ready'),
  'a failing revision is set right': failing(
    'Pause',
    '4 VMs, maxUnavailable 2, onFailure Pause; then C is right',
    async (stage) => {
      await roll(stage, { version: 3 });
      await completed(stage);
    },
  ),
  'a failing revision is undone': failing('Undo', '4 VMs, maxUnavailable 2, onFailure Undo; VMs of B never get ready'),
  'a failing revision goes on': failing(
    'Continue',
    '4 VMs, maxUnavailable 2, onFailure Continue; VMs of B never get ready',
  ),
  'one failure is allowed': {
    about: '5 VMs, maxUnavailable 1, maxFailures 1, onFailure Pause; VMs of B never get ready',
    spec: { replicas: 5, maxUnavailable: 1, rollout: { progressDeadlineSeconds: 20, maxFailures: 1 } },
    live: async (stage) => {
      await roll(stage, { version: 2, neverReady: true });
      await stage.world.wait(3 * MINUTE);
    },
  },
};
