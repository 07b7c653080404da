import type { Disruption } from '../../../../api/pool/pool.ts';
import { aTemplate, type Shape } from '../../pools.ts';
import { MINUTE, completed, regular, roll, type Stories } from '../story.ts';

/** VMIs that KubeVirt lets grow to four times this size while they run. */
const small: Shape = { sockets: 1, memory: '1Gi' };
const pool = (disruption: Disruption = 'Restart') => ({
  replicas: 3,
  maxUnavailable: 1,
  template: aTemplate(small),
  updateStrategy: { proactive: { disruption } },
});

export const stories: Stories = {
  'more sockets and memory without a restart': regular(
    '3 VMs, maxUnavailable 1; B has more sockets and memory',
    pool(),
    {
      sockets: 2,
      memory: '2Gi',
    },
  ),
  'more sockets than a VMI has room for take a restart': regular(
    '3 VMs that have room for 4 sockets, maxUnavailable 1; B has 5',
    pool(),
    { ...small, sockets: 5 },
  ),
  'fewer sockets take a restart': regular(
    '3 VMs with 2 sockets, maxUnavailable 1; B has 1',
    { ...pool(), template: aTemplate({ ...small, sockets: 2 }) },
    small,
  ),
  'what KubeVirt refuses takes a restart': regular(
    '3 VMs, maxUnavailable 1; B has an amount of memory that only KubeVirt knows to be impossible',
    pool(),
    { ...small, memory: '1025Mi' },
  ),
  'a cluster that stages changes restarts VMs': {
    ...regular('3 VMs, maxUnavailable 1, the cluster has vmRolloutStrategy Stage; B has 2 sockets', pool(), {
      ...small,
      sockets: 2,
    }),
    options: { vmRolloutStrategy: 'Stage' },
  },
  'live updates wait for the places that KubeVirt has for migrations': regular(
    '12 VMs, maxUnavailable 12; B has 2 sockets; KubeVirt migrates at most 4 at once, for 5 min, half of the deadline',
    { ...pool(), replicas: 12, maxUnavailable: 12, template: aTemplate({ ...small, migrationMs: 5 * MINUTE }) },
    { ...small, migrationMs: 5 * MINUTE, sockets: 2 },
  ),
  'pods that lack a label are made again by migrations': regular(
    '3 VMs, maxUnavailable 1, outdatedPods Migrate; B has another label',
    { ...pool(), updateStrategy: { proactive: { outdatedPods: 'Migrate' } } },
    { ...small, tier: 'gold' },
  ),
  'a restart that is not allowed waits for a person': {
    about: '3 VMs with room for 4 sockets, maxUnavailable 1, disruption Live; B has 5; people restart each',
    spec: pool('Live'),
    live: async (stage) => {
      const { world, log } = stage;
      await roll(stage, { ...small, sockets: 5 });
      await world.wait(MINUTE);
      for (const name of ['web-2', 'web-1', 'web-3']) {
        log.person(`restart ${name}`);
        await world.people.power(name, 'restart');
        await world.wait(20_000);
      }
      await completed(stage);
    },
  },
};
