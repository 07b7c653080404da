import type { VmView } from '../views/vm.ts';
import type { Batch, BatchVm } from './batch.ts';

/** The VM names that batches have reserved. */
export interface BatchHold {
  /** Names of VMs that a batch acts on, and of VMs that will replace another. */
  held: Set<string>;
  /**
   * Names without a VM that a batch will create. A VM that was deleted or released during its batch is not created
   * again by it.
   */
  coming: Set<string>;
  /** Those among them that will be none of the pool's replicas. */
  comingBeside: Set<string>;
}

export function batchHold(
  batches: readonly Batch[],
  vms: readonly VmView[],
  isHeldByOther: (name: string) => boolean,
): BatchHold {
  const hold: BatchHold = { held: new Set(), coming: new Set(), comingBeside: new Set() };
  if (batches.length === 0) return hold;
  const byName = new Map(vms.map((vm) => [vm.name, vm]));
  for (const held of batches.flatMap((batch) => batch.vms)) {
    const vm = byName.get(held.name);
    if (vm === undefined && held.act === 'replace' && !isHeldByOther(held.name)) {
      hold.coming.add(held.name);
      if (held.role !== undefined) hold.comingBeside.add(held.name);
    }
    if (hold.coming.has(held.name) || isHeld(held, vm)) hold.held.add(held.name);
  }
  return hold;
}

/**
 * Reports whether a batch acts on this VM, or on the VM that it replaces. A later VM of the same name is not the
 * batch's.
 */
const isHeld = (held: BatchVm, vm: VmView | undefined): boolean =>
  vm !== undefined && (held.act === 'replace' || vm.uid === held.uid);
