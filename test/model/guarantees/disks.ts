import { controllerOf, type Stored } from '../../../api/objects.ts';
import { DataVolumes, PersistentVolumeClaims, VirtualMachineInstances } from '../../../api/resources.ts';
import type { VirtualMachineInstance } from '../../../simulator/objects/kubevirt.ts';
import { claimsOf } from '../../../simulator/objects/volumes.ts';
import { isDeletion, isGoing } from '../facts.ts';
import type { Write } from '../world/api-server.ts';
import { PoolCheck } from './check.ts';

/** Checks that no two VMs use one disk (G6), and that no disk with data is deleted (G7). */
export class DiskGuarantees extends PoolCheck {
  onWrite(write: Write): void {
    const { resource, before, after } = write;
    if (resource === VirtualMachineInstances && before === undefined && after !== undefined)
      this.#checkSharing(after as Stored<VirtualMachineInstance>);
    if (resource === DataVolumes || resource === PersistentVolumeClaims) this.#diskWritten(write);
  }

  /** Checks that no two VMs use one disk. */
  #checkSharing(vmi: Stored<VirtualMachineInstance>): void {
    const claims = new Set(claimsOf(vmi.spec));
    if (claims.size === 0) return;
    for (const other of this.world.server.all<VirtualMachineInstance>(VirtualMachineInstances)) {
      if (
        other.metadata.name === vmi.metadata.name ||
        other.status?.phase === 'Succeeded' ||
        other.status?.phase === 'Failed'
      )
        continue;
      const shared = claimsOf(other.spec).find((claim) => claims.has(claim));
      if (shared !== undefined)
        this.broken('G6', `${vmi.metadata.name} is started on disk ${shared}, which ${other.metadata.name} uses`);
    }
  }

  #diskWritten({ resource, before, after }: Write): void {
    if (before === undefined || !isDeletion(before, after)) return;
    const { name } = before.metadata;
    // A claim is covered by the DataVolume that owns it.
    const owner = resource === DataVolumes ? controllerOf(before) : undefined;
    const vm = owner === undefined ? undefined : this.record.vm(owner.uid);
    for (const vmi of this.world.server.all<VirtualMachineInstance>(VirtualMachineInstances)) {
      const isOther = vm === undefined || vmi.metadata.name !== vm.name;
      const isLive = vmi.status?.phase !== 'Succeeded' && vmi.status?.phase !== 'Failed' && !isGoing(vmi);
      if (isOther && isLive && resource === DataVolumes && claimsOf(vmi.spec).includes(name))
        this.broken(
          'G6',
          `disk ${name} is deleted with ${vm?.name ?? 'somebody'}, and ${vmi.metadata.name} runs on it`,
        );
    }
    if (vm === undefined) return;
    const pool = this.record.poolWith(vm.pool);
    const rules = pool?.spec.autohealing;
    // A VMI that ends sooner counts as a failed start.
    const hasRun = vm.longestRunMs > (pool?.spec.rollout?.minReadySeconds ?? 0) * 1000;
    if (vm.deletedBy === 'removeUnhealthyVm' && hasRun && rules?.preserveStorage !== false)
      this.broken('G7', `disk ${name} is deleted by healing, and ${vm.name} has run with it`);
    const isOffline = pool?.spec.scaleInStrategy?.proactive?.statePreservation === 'Offline';
    // The disks of extra VMs go with them.
    const isKept = isOffline && !this.record.wasSurge(owner!.uid);
    if (isKept && (vm.deletedBy === 'deleteVms' || vm.deletedBy === 'haltVms') && !isGoing(pool))
      this.broken('G7', `disk ${name} is deleted by a scale-in that keeps disks`);
  }
}
