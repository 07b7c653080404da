import { namespacedName, type VmsSnapshot } from '../disruption-budget/restart-budget.ts';
import type { VmInProgress } from '../power/outcome.ts';
import type { StoredPool } from '../views/pool.ts';
import type { VmView } from '../views/vm.ts';
import type { TransitionRules } from './criteria.ts';
import { transitionNeed, type TransitionNeed } from './vm-need.ts';

/** A VM in flight, with the UID of the VMI that is restarted: once the VM has another VMI, the restart is done. */
export interface VmiInProgress extends VmInProgress {
  vmi: string;
}

/** A VM or pool that is not to be retried. */
export interface FailedVm {
  /** `namespace/name`; for a pool, the result of `formatPool`. */
  vm: string;
  /** UID of the VM, if known: a VM recreated under the same name is another. */
  uid?: string;
  /** The VM failed in its restart, and was ready before. */
  wasAvailable: boolean;
  /** The VM's mark can't be removed. */
  keepsMark?: true;
}

/** `pool namespace/name`: tells a pool from a VM of the same name. */
export const formatPool = ({ metadata: { namespace, name } }: Pick<StoredPool, 'metadata'>): string =>
  `pool ${namespace}/${name}`;

/** Returns a lookup of a VM's failure; undefined for a VM that has not failed. */
export function failureAmong(failed: readonly FailedVm[]): (vm: VmView) => FailedVm | undefined {
  const byName = new Map(failed.map((one) => [one.vm, one]));
  return (vm) => {
    const failure = byName.get(namespacedName(vm));
    return failure?.uid === undefined || failure.uid === vm.uid ? failure : undefined;
  };
}

export interface Touched {
  inProgress: readonly VmiInProgress[];
  failed: readonly FailedVm[];
}

/**
 * Returns whether a VM that is not ready counts against the limit of restarts: VMs that are, were or will be restarted
 * count, whatever the cause. Paused VMs and VMs in their pool's rollout don't, since others answer for them. Neither do
 * failed VMs that were not ready before either: they would block the rest for ever.
 */
export function roomTaker(
  { ref }: TransitionRules,
  { inProgress, failed }: Touched,
): (vm: VmView, need: TransitionNeed) => boolean {
  const held = new Set(inProgress.map(({ vm }) => vm));
  const failureOf = failureAmong(failed);
  return (vm, { need }) =>
    held.has(namespacedName(vm)) ||
    (failureOf(vm)?.wasAvailable ?? (need === 'restart' || (need === 'done' && vm.transition?.id === ref.id)));
}

/** The VMs that count against the limit while they are not ready, by `namespace/name`. */
export function countedVms(
  rules: TransitionRules,
  vms: Iterable<VmView>,
  snapshot: Pick<VmsSnapshot, 'vmiOf' | 'poolOf'>,
  touched: Touched,
): string[] {
  const takesUpRoom = roomTaker(rules, touched);
  const counted: string[] = [];
  for (const vm of vms) if (takesUpRoom(vm, transitionNeed(rules, vm, snapshot))) counted.push(namespacedName(vm));
  return counted;
}
