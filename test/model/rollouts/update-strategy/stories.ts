import { RESTARTED_AT_ANNOTATION } from '../../../../api/labels-and-annotations.ts';
import { aTemplate, fromAnotherSource } from '../../pools.ts';
import { change, completed, MINUTE, regular, roll, type Stories } from '../story.ts';

export const stories: Stories = {
  'with disks': regular(
    '3 VMs with a disk each, maxUnavailable 1',
    {
      replicas: 3,
      maxUnavailable: 1,
      template: aTemplate({ disk: 'root' }),
    },
    { version: 2, disk: 'root' },
  ),
  'another disk': regular(
    '3 VMs with a disk each, maxUnavailable 1; B has a disk of another name',
    { replicas: 3, maxUnavailable: 1, template: aTemplate({ disk: 'root' }) },
    { version: 2, disk: 'system' },
  ),
  'VMs are replaced': {
    about: '3 VMs with a disk each, maxUnavailable 1, disruption Replace; the disk gets another source',
    spec: {
      replicas: 3,
      maxUnavailable: 1,
      template: aTemplate({ disk: 'root' }),
      updateStrategy: { proactive: { disruption: 'Replace' } },
    },
    live: async (stage) => {
      await change(stage, { template: fromAnotherSource({ disk: 'root' }) }, 'the disk template gets another source');
      await completed(stage);
    },
  },
  'another source of the disk without leave to replace': {
    about: '3 VMs with a disk each, maxUnavailable 1, disruption Restart by default; the disk gets another source',
    spec: { replicas: 3, maxUnavailable: 1, template: aTemplate({ disk: 'root' }) },
    live: async (stage) => {
      await change(stage, { template: fromAnotherSource({ disk: 'root' }) }, 'the disk template gets another source');
      await stage.world.wait(MINUTE);
    },
  },
  'a restart on demand': {
    about: '3 VMs, maxUnavailable 1; drover rollout restart',
    spec: { replicas: 3, maxUnavailable: 1 },
    live: async (stage) => {
      stage.log.person('drover rollout restart');
      const template = aTemplate();
      const { metadata } = template.spec.template as { metadata: { annotations: Record<string, string> } };
      metadata.annotations[RESTARTED_AT_ANNOTATION] = '2026-01-01T00:00:20Z';
      await stage.world.people.changePool('web', { template });
      await completed(stage);
    },
  },
  'VMs are left alone': {
    about: '3 VMs, updateStrategy unmanaged; web-2 is deleted',
    spec: { replicas: 3, updateStrategy: { unmanaged: {} } },
    live: async (stage) => {
      const { world, log } = stage;
      await roll(stage, { version: 2 });
      await world.wait(20_000);
      log.person('delete web-2');
      await world.people.deleteVm('web-2');
      await world.wait(20_000);
    },
  },
  'VMs are updated when they restart': {
    about: '3 VMs, updateStrategy opportunistic; web-2 is stopped and started',
    spec: { replicas: 3, updateStrategy: { opportunistic: {} } },
    live: async (stage) => {
      const { world, log } = stage;
      await roll(stage, { version: 2 });
      await world.wait(20_000);
      log.person('stop web-2');
      await world.people.power('web-2', 'stop');
      await world.wait(20_000);
      log.person('start web-2');
      await world.people.power('web-2', 'start');
      await world.wait(20_000);
    },
  },
};
