import type { Batch, BatchVm } from '../owners/batch.ts';
import type { VmView } from '../views/vm.ts';

export interface ReservedNames {
  /** Names of VMs that a batch acts on, and of VMs that will replace another. */
  held: Set<string>;
  /**
   * Names without a VM that a batch will create. A VM that was deleted or released during its batch is not created
   * again by it.
   */
  pendingCreates: Set<string>;
  /** Those among them that will be none of the pool's replicas. */
  pendingNonReplicas: Set<string>;
}

export function reservedNames(
  batches: readonly Batch[],
  vms: readonly VmView[],
  isVmNameTaken: (name: string) => boolean,
): ReservedNames {
  const hold: ReservedNames = { held: new Set(), pendingCreates: new Set(), pendingNonReplicas: new Set() };
  if (batches.length === 0) return hold;
  const byName = new Map(vms.map((vm) => [vm.name, vm]));
  for (const held of batches.flatMap((batch) => batch.vms)) {
    const vm = byName.get(held.name);
    if (vm === undefined && held.act === 'replace' && !isVmNameTaken(held.name)) {
      hold.pendingCreates.add(held.name);
      if (held.role !== undefined) hold.pendingNonReplicas.add(held.name);
    }
    if (hold.pendingCreates.has(held.name) || isHeld(held, vm)) hold.held.add(held.name);
  }
  return hold;
}

/**
 * Reports whether a batch acts on this VM, or on the VM that it replaces. A later VM of the same name is not the
 * batch's.
 */
const isHeld = (held: BatchVm, vm: VmView | undefined): boolean =>
  vm !== undefined && (held.act === 'replace' || vm.uid === held.uid);
