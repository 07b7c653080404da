import { matchesLabels } from '../../api/label-selector.ts';
import type { VmiOf } from '../disruption-budget/availability.ts';
import type { StoredReplicaSet } from '../views/vm-owner.ts';
import type { VmView } from '../views/vm.ts';
import { hasEnded } from './removal-order.ts';

/** The VMs that a set has or is about to have, by what is to become of them. */
export interface Members {
  /** Their labels no longer match the selector. */
  unmatched: VmView[];
  /** They match the selector, and have no controller. */
  orphans: VmView[];
  /** They have run to their end. */
  ended: VmView[];
  /** They stay, if they are not too many. */
  active: VmView[];
  /** Names of all that hold a place: a VM holds it until it is gone, or is no longer the set's. */
  present: Set<string>;
}

export interface MembersInput {
  set: StoredReplicaSet;
  /** All VMs that the set controls, including terminating ones. */
  vms: readonly VmView[];
  /** VMs of its namespace that no controller owns. */
  uncontrolled: readonly VmView[];
  vmiOf: VmiOf;
}

export function membersOf({ set, vms, uncontrolled, vmiOf }: MembersInput): Members {
  const matches = (vm: VmView): boolean => matchesLabels(set.spec.selector, vm.ownLabels);
  const isDeleted = set.metadata.deletionTimestamp !== undefined;
  const orphans = isDeleted ? [] : uncontrolled.filter((vm) => !vm.deleting && matches(vm));
  const mine = vms.filter((vm) => !vm.deleting && matches(vm));
  return {
    unmatched: vms.filter((vm) => !vm.deleting && !matches(vm)),
    orphans,
    ended: mine.filter((vm) => hasEnded(vm, vmiOf(vm))),
    active: mine.filter((vm) => !hasEnded(vm, vmiOf(vm))),
    present: new Set([...vms, ...orphans].map(({ name }) => name)),
  };
}
