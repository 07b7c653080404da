import { liveVmi } from '../disruption-budget/availability.ts';
import type { VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';
import { isAlias } from './machine-type.ts';
import type { TransitionRecord } from './transition.ts';

/**
 * What a VM is to carry of a transition that changes its type to `to`, or marks it (`to` is its own type then). One
 * whose guest still waits for what an earlier transition has changed is recorded with the type of before that, so that
 * it can be undone.
 */
export function newRecord(
  vm: VmView,
  vmi: VmiView | undefined,
  { id, to, at }: Pick<TransitionRecord, 'id' | 'to' | 'at'>,
): TransitionRecord {
  const own = vm.machineType ?? '';
  const live = liveVmi(vmi);
  const guest = live === undefined ? null : (live.machineType ?? live.specMachineType);
  const earlier = vm.transition;
  const isSameGuest =
    earlier?.id === id || (guest !== null && earlier?.guest === guest && mayBeOf(earlier.from, guest));
  const isTakenOver = to === own && earlier !== null && earlier.to === own && isSameGuest;
  return {
    id,
    from: isTakenOver ? earlier.from : own,
    to,
    guest,
    ...(live === undefined ? {} : { guestUid: live.uid }),
    at,
  };
}

/**
 * Whether a guest of this type may have been started from a spec of that one; else it never waited for the change of
 * that.
 */
const mayBeOf = (spec: string, guest: string): boolean => spec === guest || spec === '' || isAlias(spec);
