import type { VmView } from '../views/vm.ts';
import type { Batch, BatchVm } from './batch.ts';

/** What batches have to do with the names of their pool. */
export interface BatchHold {
  /**
   * VMs that a batch acts on, by name: those that are meant, and those that are to come in the place of one that is
   * replaced.
   */
  held: Set<string>;
  /**
   * Names without a VM that a batch will make one of. A VM that was deleted or let go of during its batch comes back by
   * no batch.
   */
  coming: Set<string>;
}

export function batchHold(
  batches: readonly Batch[],
  vms: readonly VmView[],
  isHeldByOther: (name: string) => boolean,
): BatchHold {
  const hold: BatchHold = { held: new Set(), coming: new Set() };
  if (batches.length === 0) return hold;
  const byName = new Map(vms.map((vm) => [vm.name, vm]));
  for (const held of batches.flatMap((batch) => batch.vms)) {
    const vm = byName.get(held.name);
    if (vm === undefined && held.act === 'replace' && !isHeldByOther(held.name)) hold.coming.add(held.name);
    if (hold.coming.has(held.name) || isHeld(held, vm)) hold.held.add(held.name);
  }
  return hold;
}

/**
 * Whether a batch is at this VM, or at the one whose place it takes; a later one of its name is none of the batch's
 * business.
 */
const isHeld = (held: BatchVm, vm: VmView | undefined): boolean =>
  vm !== undefined && (held.act === 'replace' || vm.uid === held.uid);
