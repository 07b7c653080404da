import { operate } from '../../play/operate.ts';
import { aTemplate } from '../../pools.ts';
import { NAMESPACE } from '../../world/names.ts';
import { completed, MINUTE, regular, roll, type Stories } from '../story.ts';

export const stories: Stories = {
  'one VM': regular('1 VM', { replicas: 1 }),
  'one at a time': regular('5 VMs, maxUnavailable 1', { replicas: 5, maxUnavailable: 1 }),
  'two at a time': regular('6 VMs, maxUnavailable 2', { replicas: 6, maxUnavailable: 2 }),
  'a quarter at a time': regular('10 VMs, maxUnavailable by default', { replicas: 10 }),
  'all at once': regular('8 VMs, maxUnavailable 100%', { replicas: 8, maxUnavailable: '100%' }),
  'VMs that take long to boot': regular(
    '4 VMs that boot in a minute, maxUnavailable 1',
    {
      replicas: 4,
      maxUnavailable: 1,
      template: aTemplate({ bootMs: MINUTE }),
    },
    { version: 2, bootMs: MINUTE },
  ),
  'a VM must be ready for a while': regular('4 VMs, maxUnavailable 1, minReadySeconds 20', {
    replicas: 4,
    maxUnavailable: 1,
    rollout: { minReadySeconds: 20 },
  }),
  'the budget is taken by a restart of VMs': {
    about: '4 VMs, maxUnavailable 1; drover vm restart of all of them runs beside the rollout',
    spec: { replicas: 4, maxUnavailable: 1, template: aTemplate({ bootMs: 5_000 }) },
    live: async (stage) => {
      const { world, log } = stage;
      const chosen = Object.fromEntries(
        world
          .vmsOf(world.pool('web')!.metadata.uid)
          .map(({ metadata: { name } }) => [name, world.vmi(name)!.metadata.uid]),
      );
      log.person('drover vm restart --pool web');
      operate(world, {
        action: 'Restart',
        chosen: { [NAMESPACE]: chosen },
        atOnce: 1,
        maxFailures: 0,
        deadlineMs: MINUTE,
        requestedBy: 'ann',
        reason: null,
      });
      await roll(stage, { version: 2, bootMs: 5_000 });
      await completed(stage);
    },
  },
};
