import { log } from '@temporalio/activity';
import { NOT_YET_RUN_ANNOTATION } from '../../api/labels-and-annotations.ts';
import { VirtualMachines } from '../../api/resources.ts';
import type { UnhealthyVm } from '../../decisions/healing/attempt.ts';
import type { RunRecord } from '../../decisions/owners/steps.ts';
import { isRefusal, ignoreNotFound } from '../../kubernetes/errors.ts';
import { recordEvent, type PoolEvent } from '../lib/events.ts';
import { patchKept } from '../lib/refuse-unkept.ts';
import { sharedCall } from '../lib/shared-call.ts';
import { slowStart } from '../lib/slow-start.ts';
import { ifOwned, type SeenMember } from '../owners/if-owned.ts';
import { livePool } from '../owners/live-owner.ts';
import type { PoolKey } from '../owners/owner-key.ts';
import { UnhealthyVmRemover, type Removal, type UnhealthyVmRemoverOptions } from './unhealthy-vm-remover.ts';

interface HealActivityOptions extends UnhealthyVmRemoverOptions {
  /** Concurrent calls to the API server, for one activity. */
  concurrency: number;
}

export function createHealActivities({ concurrency, ...options }: HealActivityOptions) {
  const { client, cache } = options;
  const remover = new UnhealthyVmRemover(options);
  return {
    /**
     * Deletes a VM of the pool with its disks, if it is still unhealthy by the pool's current rules; owners are deleted
     * after what they own, so the VM's deletion implies that of its disks. If its disks are to be kept, the VM is
     * halted and marked as leaving instead, and the pool deletes it once its VMI has stopped. `at`: when the removal
     * was asked for, in milliseconds since the epoch.
     */
    removeUnhealthyVm: (key: PoolKey, unhealthyVm: UnhealthyVm, at: number): Promise<Removal> =>
      remover.remove(key, unhealthyVm, at),

    /**
     * Notes on VMs of the pool that they have run well, or which of their starts have failed. A refusal for one VM does
     * not hold up the others.
     */
    async annotateRuns(key: PoolKey, records: RunRecord[]): Promise<void> {
      const poolNow = sharedCall(() => livePool(client, key));
      const record = async ({ start, ...vm }: RunRecord): Promise<void> => {
        const address = { namespace: key.namespace, name: vm.name };
        const write = async ({ resourceVersion }: SeenMember): Promise<void> => {
          const patch = { metadata: { resourceVersion, annotations: { [NOT_YET_RUN_ANNOTATION]: start } } };
          await ignoreNotFound(patchKept(client, VirtualMachines, address, patch));
        };
        try {
          await ifOwned(client, key, vm, write, {
            cache,
            // That a VM has never run is recorded when it is made, and never later.
            isSame: (now) => now.vm?.notYetRun != null,
            isWanted: async () => (await poolNow()) !== undefined,
          });
        } catch (error) {
          if (!isRefusal(error)) throw error;
          log.warn('it could not be recorded on a VM whether it has run', {
            vm: `${key.namespace}/${vm.name}`,
            error: error.message,
          });
        }
      };
      await slowStart(records, record, { most: concurrency });
    },

    /** Records the progress of healing as an Event on the pool. */
    recordHealing: (key: PoolKey, event: Omit<PoolEvent, 'action'>): Promise<void> =>
      recordEvent(client, key, { ...event, action: 'Heal' }),
  };
}

export type HealActivities = ReturnType<typeof createHealActivities>;
