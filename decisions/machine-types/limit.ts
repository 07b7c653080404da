import { keyOf, type RestartPicture } from '../disruption-budget/restart-budget.ts';
import type { HeldRestart } from '../restarts/plan.ts';
import type { StoredPool } from '../views/pool.ts';
import type { VmView } from '../views/vm.ts';
import type { TransitionRules } from './criteria.ts';
import { transitionNeed, type TransitionNeed } from './vm-need.ts';

/** A VM in hand, with the UID of the guest (VMI) that is restarted: where it has another by now, that is done. */
export interface HeldGuest extends HeldRestart {
  guest: string;
}

/** A VM that is not to be tried again. */
export interface FailedVm {
  /** `namespace/name`; of a pool as `poolInWords` names it. */
  vm: string;
  /** Of that VM, where it is known: one that is made anew under its name is another. */
  uid?: string;
  /** It failed in its restart, and was ready before that. */
  wasWell: boolean;
  /** Its mark can't be taken off. */
  keepsMark?: true;
}

/** `pool namespace/name`: a pool among VMs, one of which may have its name. */
export const poolInWords = ({ metadata: { namespace, name } }: Pick<StoredPool, 'metadata'>): string =>
  `pool ${namespace}/${name}`;

/** Whether, and how, a VM has failed. */
export function failureAmong(failed: readonly FailedVm[]): (vm: VmView) => FailedVm | undefined {
  const byName = new Map(failed.map((one) => [one.vm, one]));
  return (vm) => {
    const failure = byName.get(keyOf(vm));
    return failure?.uid === undefined || failure.uid === vm.uid ? failure : undefined;
  };
}

export interface Touched {
  inHand: readonly HeldGuest[];
  failed: readonly FailedVm[];
}

/**
 * Whether a VM that is not ready takes up room in the limit of restarts: what is restarted, was or is to be, whatever
 * the cause. Not one that is paused or that its pool rolls, for which others answer, nor one that failed and was not
 * well before either: it would block the rest for ever.
 */
export function roomTaker(
  { ref }: TransitionRules,
  { inHand, failed }: Touched,
): (vm: VmView, need: TransitionNeed) => boolean {
  const held = new Set(inHand.map(({ vm }) => vm));
  const failureOf = failureAmong(failed);
  return (vm, { need }) =>
    held.has(keyOf(vm)) ||
    (failureOf(vm)?.wasWell ?? (need === 'restart' || (need === 'done' && vm.transition?.id === ref.id)));
}

/** Those that take up room where they are not ready, by `namespace/name`. */
export function countedVms(
  rules: TransitionRules,
  vms: Iterable<VmView>,
  picture: Pick<RestartPicture, 'vmiOf' | 'poolOf'>,
  touched: Touched,
): string[] {
  const takesUpRoom = roomTaker(rules, touched);
  const counted: string[] = [];
  for (const vm of vms) if (takesUpRoom(vm, transitionNeed(rules, vm, picture))) counted.push(keyOf(vm));
  return counted;
}
