import type { Batch, BatchVm } from '../owners/batch.ts';
import type { VmView } from '../views/vm.ts';

export interface ReservedNames {
  /** Names of VMs that a batch acts on, and of VMs that will replace another. */
  reserved: Set<string>;
  /**
   * Names without a VM that a batch will create. A VM that was deleted or released during its batch is not created
   * again by it.
   */
  pendingCreates: Set<string>;
  /** Names among them that will be no replicas of the pool. */
  pendingNonReplicas: Set<string>;
}

export function reservedNames(
  batches: readonly Batch[],
  vms: readonly VmView[],
  isVmNameTaken: (name: string) => boolean,
): ReservedNames {
  const found: ReservedNames = { reserved: new Set(), pendingCreates: new Set(), pendingNonReplicas: new Set() };
  if (batches.length === 0) return found;
  const byName = new Map(vms.map((vm) => [vm.name, vm]));
  for (const item of batches.flatMap((batch) => batch.vms)) {
    const vm = byName.get(item.name);
    if (vm === undefined && item.act === 'replace' && !isVmNameTaken(item.name)) {
      found.pendingCreates.add(item.name);
      if (item.role !== undefined) found.pendingNonReplicas.add(item.name);
    }
    if (found.pendingCreates.has(item.name) || isOfBatch(item, vm)) found.reserved.add(item.name);
  }
  return found;
}

/**
 * Reports whether a batch acts on this VM, or on the VM that it replaces. A later VM of the same name is not the
 * batch's.
 */
const isOfBatch = (item: BatchVm, vm: VmView | undefined): boolean =>
  vm !== undefined && (item.act === 'replace' || vm.uid === item.uid);
