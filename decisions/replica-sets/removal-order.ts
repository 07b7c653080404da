import { isMeantToRun, isReady, type VmiOf } from '../disruption-budget/availability.ts';
import { isFailing, type VmView } from '../views/vm.ts';
import { isFinal, type VmiView } from '../views/vmi.ts';

/** Run strategies under which KubeVirt leaves a VMI that has ended, and starts no other. */
const ENDS = new Set(['Once', 'RerunOnFailure']);

/**
 * Reports whether the VM is in a final state: its VMI has ended, and KubeVirt won't start another. A VM that is
 * stopped, or whose node does not answer, may run again, and is not.
 */
export const hasEnded = (vm: VmView, vmi: VmiView | undefined): boolean =>
  !vm.deleting &&
  ENDS.has(vm.runStrategy) &&
  vmi !== undefined &&
  isFinal(vmi) &&
  !vmi.deleting &&
  !isMeantToRun(vm, vmi);

/**
 * Sorts VMs in the order in which they leave a set: those that are not ready, among them first those that can't run as
 * they are; then those that migrate; then ready ones; among equals the newest first. The order is total: the same VMs
 * always leave in the same order.
 */
export function removalOrder(vms: readonly VmView[], vmiOf: VmiOf): VmView[] {
  const rank = new Map(vms.map((vm) => [vm, rankOf(vm, vmiOf(vm))]));
  return [...vms].sort(
    (one, other) =>
      rank.get(one)! - rank.get(other)! || other.createdAt - one.createdAt || (one.name < other.name ? -1 : 1),
  );
}

function rankOf(vm: VmView, vmi: VmiView | undefined): number {
  if (!isReady(vm, vmi)) return isFailing(vm) ? 0 : 1;
  return vmi?.migrating === true ? 2 : 3;
}
