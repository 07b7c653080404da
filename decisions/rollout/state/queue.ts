import { isActive, liveVmi, type VmiOf } from '../../health/availability.ts';
import type { Batch, BatchVm } from '../../owners/batch.ts';
import type { VmView } from '../../views/vm.ts';
import type { VmiView } from '../../views/vmi.ts';

interface QueueInput {
  /** All VMs that the pool owns. */
  vms: readonly VmView[];
  vmiOf: VmiOf;
  /** Whether the VM is still to be corrected. */
  hasDrift: (vm: VmView) => boolean;
}

/** A VM of a batch whose turn has not come. */
export interface QueuedVm extends BatchVm {
  /** The revision that its batch brings it to. */
  revision: string;
}

/** The batches with only the VMs in progress, and the VMs whose turn has not come. */
export interface SplitBatches {
  batches: Batch[];
  queued: QueuedVm[];
}

/** Tells what batches have begun from what they have not. All but their batch treats VMs that wait as free. */
export function splitBatches(batches: readonly Batch[], input: QueueInput): SplitBatches {
  const split: SplitBatches = { batches: [], queued: [] };
  if (batches.length === 0) return split;
  const byName = new Map(input.vms.map((vm) => [vm.name, vm]));
  for (const batch of batches) {
    const { revision } = batch;
    const waits = new Set(batch.vms.filter((item) => isQueued(item, revision, byName.get(item.name), input)));
    split.batches.push(waits.size === 0 ? batch : { ...batch, vms: batch.vms.filter((item) => !waits.has(item)) });
    for (const item of waits) split.queued.push({ ...item, revision });
  }
  return split;
}

/**
 * Reports whether nothing has been done yet to a VM of a batch, as the objects show. A replacement starts with its
 * batch, and so does a live update of a VM that already has its spec: KubeVirt is carrying it out.
 */
export function isQueued(
  item: BatchVm,
  revision: string,
  vm: VmView | undefined,
  { vmiOf, hasDrift }: Pick<QueueInput, 'vmiOf' | 'hasDrift'>,
): boolean {
  if (vm === undefined || vm.uid !== item.uid || !isActive(vm) || !mayQueue(item, revision)) return false;
  if (vm.revision !== revision) return true;
  if (item.setsRight === true && hasDrift(vm)) return true;
  if (item.migration !== undefined) return isToMigrate(item.migration, liveVmi(vmiOf(vm)));
  if (item.from !== revision || item.setsRight === true || vm.changingState) return false;
  const live = liveVmi(vmiOf(vm));
  return live !== undefined && (item.vmi === undefined ? live.revision !== revision : live.uid === item.vmi);
}

/** Reports whether the VMI still lacks the pod that the migration is to give it. */
const isToMigrate = (migration: NonNullable<BatchVm['migration']>, vmi: VmiView | undefined): boolean =>
  vmi?.uid === migration.vmi && vmi.podRevision !== null && (vmi.evacuation?.attempt ?? 0) < migration.attempt;

/** Reports whether a VM may wait for its turn in a batch; others are taken only once the budget has room for them. */
export const mayQueue = ({ act, from }: Pick<BatchVm, 'act' | 'from'>, revision: string): boolean =>
  act !== 'replace' && (act !== 'live' || from !== revision);
