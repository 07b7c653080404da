import { liveVmi } from '../health/availability.ts';
import type { TransitionRecord } from '../views/annotations/transition-record.ts';
import type { VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';
import { isAlias } from './machine-type.ts';

/**
 * Returns the record for a VM whose type a transition changes to `to`, or which it only marks (then `to` is the VM's
 * own type). If the VMI still waits for the change of an earlier transition, the record keeps that one's `from`, so
 * that it can be undone.
 */
export function newRecord(
  vm: VmView,
  vmi: VmiView | undefined,
  { id, by, to, at }: Pick<TransitionRecord, 'id' | 'by' | 'to' | 'at'>,
): TransitionRecord {
  const own = vm.machineType ?? '';
  const live = liveVmi(vmi);
  const vmiType = live === undefined ? null : (live.machineType ?? live.specMachineType);
  const earlier = vm.transition;
  const isSameVmi =
    earlier?.id === id || (vmiType !== null && earlier?.vmiType === vmiType && mayBeOf(earlier.from, vmiType));
  const isInherited = to === own && earlier !== null && earlier.to === own && isSameVmi;
  return {
    id,
    ...(by === undefined ? {} : { by }),
    from: isInherited ? earlier.from : own,
    to,
    vmiType,
    ...(live === undefined ? {} : { vmiUid: live.uid }),
    at,
  };
}

/**
 * Whether a VMI of this type may have been started from a spec with that type; otherwise the VMI never waited for
 * that spec's change.
 */
const mayBeOf = (spec: string, vmiType: string): boolean => spec === vmiType || spec === '' || isAlias(spec);
