import { cancellationSignal } from '@temporalio/activity';
import { HAS_RUN_ANNOTATION, REMOVING_ANNOTATION } from '../api/names.ts';
import type { KubeClient } from '../kubernetes/client.ts';
import { isConflict, isNotFound, KubeError } from '../kubernetes/errors.ts';
import { controllerOf, type KubeObject, type Stored } from '../kubernetes/objects.ts';
import { DataVolumes, VirtualMachines } from '../kubernetes/resources.ts';
import { recordEvent } from './events.ts';
import type { Fleet } from './fleet.ts';
import type { PoolKey } from './pool.ts';
import type { VirtualMachine } from './vm-view.ts';

export function createHealActivities({ client, fleet }: { client: KubeClient; fleet: Fleet }) {
  return {
    /**
     * Deletes a VM of the pool with its disks; owners go after what they own, so that its end tells that of its disks. With its
     * disks kept it is halted and marked as leaving instead, and the pool deletes it once its guest has stopped.
     * `preserve` null: the disks are kept where they hold something, for the VM has run well or is younger than they are.
     */
    async removeSickVm(key: PoolKey, { name, uid }: { name: string; uid: string }, preserve: boolean | null): Promise<void> {
      const at = { namespace: key.namespace, name };
      const vm = await orNothing(client.get<VirtualMachine>(VirtualMachines, at, { signal: cancellationSignal() }));
      if (vm === undefined || vm.metadata.uid !== uid || controllerOf(vm)?.uid !== key.uid) return;
      const keepDisks = preserve ?? (await holdsSomething(vm));
      if (keepDisks) {
        const patch = { metadata: { uid, annotations: { [REMOVING_ANNOTATION]: 'true' } }, spec: { running: null, runStrategy: 'Halted' } };
        await orOther(client.patch(VirtualMachines, at, 'merge', patch, { signal: cancellationSignal() }));
      } else {
        await orOther(client.delete(VirtualMachines, at, { uid, propagationPolicy: 'Foreground', signal: cancellationSignal() }));
      }
      const pool = fleet.pools.get(`${key.namespace}/${key.name}`);
      if (pool === undefined) return;
      const note = `Replaces ${name} ${keepDisks ? 'and keeps' : 'with'} its disks`;
      await recordEvent(client, pool, { type: 'Warning', reason: 'Healing', action: 'Heal', note });
    },

    /** Notes on VMs that they have run well once. */
    async markHasRun(key: PoolKey, vms: { name: string; uid: string }[]): Promise<void> {
      for (const { name, uid } of vms) {
        const patch = { metadata: { uid, annotations: { [HAS_RUN_ANNOTATION]: 'true' } } };
        await orOther(client.patch(VirtualMachines, { namespace: key.namespace, name }, 'merge', patch, { signal: cancellationSignal() }));
      }
    },
  };

  async function holdsSomething(vm: Stored<VirtualMachine>): Promise<boolean> {
    if (vm.metadata.annotations?.[HAS_RUN_ANNOTATION] !== undefined) return true;
    const created = Date.parse(vm.metadata.creationTimestamp);
    for (const { metadata } of vm.spec?.dataVolumeTemplates ?? []) {
      if (metadata?.name === undefined) continue;
      const disk = await orNothing(client.get<KubeObject>(DataVolumes, { namespace: vm.metadata.namespace, name: metadata.name }));
      if (disk !== undefined && Date.parse(disk.metadata.creationTimestamp) < created) return true;
    }
    return false;
  }
}

export type HealActivities = ReturnType<typeof createHealActivities>;

const orNothing = <T>(call: Promise<T>): Promise<T | undefined> =>
  call.catch((error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  });

/** Where the VM is gone, or is another by now, there is nothing to do. */
const orOther = async (call: Promise<unknown>): Promise<void> => {
  await call.catch((error: unknown) => {
    const isOther = isConflict(error) || (error instanceof KubeError && error.status === 422 && error.message.includes('metadata.uid'));
    if (!isNotFound(error) && !isOther) throw error;
  });
};
