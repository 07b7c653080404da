import { aTemplate } from '../../pools.ts';
import { amid, completed, roll, type Stories } from '../story.ts';

export const stories: Stories = {
  'healing in the middle': {
    about:
      '4 VMs with a disk each, maxUnavailable 2, autohealing, maxFailures 1; the disk of web-4 is corrupt when it restarts',
    spec: {
      replicas: 4,
      maxUnavailable: 2,
      rollout: { maxFailures: 1, progressDeadlineSeconds: 60 },
      autohealing: { preserveStorage: false, backoff: { initial: '5s', jitter: 0 } },
      template: aTemplate({ disk: 'root' }),
    },
    live: async (stage) => {
      stage.log.person('the disk root-4 is corrupt');
      await stage.world.people.corruptDisk('root-4');
      await roll(stage, { version: 2, disk: 'root' });
      await completed(stage);
    },
  },
  'a VM fails in the middle': amid(
    '5 VMs, maxUnavailable 2; web-5, which waits for its turn, crashes',
    ({ world, log }) => {
      log.person('web-5 crashes');
      world.kubevirt.crash('web-5');
    },
  ),
};
