import { formatNames } from '../../decisions/lib/names.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { SettleAct, Target } from '../../decisions/owners/steps.ts';
import { recordEvent } from '../lib/events.ts';
import type { Done } from '../owners/done.ts';
import { knownPool } from '../owners/live-owner.ts';
import type { PoolKey } from '../owners/owner-key.ts';
import { tryEach } from '../owners/try-each.ts';
import { StandbyVms, type StandbyOptions } from './standby-vms.ts';

/** Creates the activities by which standby VMs become replicas, and are brought to the state that their pool wants. */
export function createStandbyActivities({ concurrency, ...options }: StandbyOptions & { concurrency: number }) {
  const { client, cache } = options;
  return {
    /**
     * Makes these standby VMs replicas of the pool, each only while the spec is that of the plan (`generation`), and
     * only while replicas are missing. A VM that is a replica already has been promoted, perhaps by an earlier attempt
     * whose answer was lost.
     */
    async promoteStandbyVms(
      key: PoolKey,
      vms: Target[],
      generation: number,
      minVersions: ResourceVersions,
    ): Promise<Done> {
      await cache.catchUp({ vms: minVersions.vms });
      const standby = new StandbyVms(options, key, generation);
      const { count, refused } = await tryEach(vms, (vm) => standby.promote(vm), { most: concurrency });
      await standby.endPromotion();
      const pool = await knownPool(client, cache, key);
      const { acted } = standby;
      if (pool !== undefined && acted.length > 0)
        await recordEvent(client, pool, {
          type: 'Normal',
          reason: 'SuccessfulPromote',
          action: 'ScaleOut',
          note: `Promoted ${formatNames(acted)} from standby`,
        });
      if (pool !== undefined && refused !== null)
        await recordEvent(client, pool, {
          type: 'Warning',
          reason: 'FailedPromote',
          action: 'ScaleOut',
          note: `${vms.length - count} of ${formatNames(vms.map(({ name }) => name))} not promoted: ${refused.message}`,
        });
      return standby.done(count, refused);
    },

    /** Brings these VMs to their state, each only while it is a standby VM, and the spec is the planned one. */
    async setStandbyState(key: PoolKey, vms: Target[], act: SettleAct, generation: number): Promise<Done> {
      const standby = new StandbyVms(options, key, generation);
      const { count, refused } = await tryEach(vms, (vm) => standby.settle(vm, act), { most: concurrency });
      return standby.done(count, refused);
    },
  };
}
