import type { ResourceVersions } from '../../../decisions/lib/resource-versions.ts';
import type { SettleAct, Target } from '../../../decisions/owners/steps.ts';
import type { Done } from '../../owners/done.ts';
import type { PoolKey } from '../../owners/owner-key.ts';
import { StandbyVms, type StandbyOptions } from './standby-vms.ts';

/** Creates the activities that promote standby VMs to replicas, and bring them to the state that their pool wants. */
export function createStandbyActivities({ concurrency, ...options }: StandbyOptions & { concurrency: number }) {
  const { cache } = options;
  return {
    /**
     * Makes these standby VMs replicas of the pool, each only while the spec is that of the plan (`generation`), and
     * only while replicas are missing. A VM that is a replica already has been promoted, perhaps by an earlier attempt
     * whose answer was lost.
     */
    promoteStandbyVms: async (
      key: PoolKey,
      vms: Target[],
      generation: number,
      minVersions: ResourceVersions,
    ): Promise<Done> => {
      await cache.catchUp({ vms: minVersions.vms }, key);
      const standby = new StandbyVms(options, key, generation);
      await standby.each(vms, (vm) => standby.promote(vm), { most: concurrency });
      await standby.endPromotion();
      await standby.report('Promote', ' from standby');
      return standby.done();
    },

    /** Brings these VMs to their state, each only while it is a standby VM, and the spec is the planned one. */
    setStandbyState: async (key: PoolKey, vms: Target[], act: SettleAct, generation: number): Promise<Done> => {
      const standby = new StandbyVms(options, key, generation);
      await standby.each(vms, (vm) => standby.settle(vm, act), { most: concurrency });
      return standby.done();
    },
  };
}
