import type { TypeChanges, Unpatched } from '../../activities/machine-types/patch-vms.ts';
import type { BegunAct } from '../../decisions/history/act.ts';
import type { Transition } from '../../decisions/machine-types/transition.ts';
import type { Journal } from '../history/journal.ts';

/** An act of a transition, without its VMs. */
export const actOf = (
  action: string,
  { requestedBy, reason }: Transition,
): Pick<BegunAct, 'action' | 'requestedBy' | 'reason'> => ({
  action,
  requestedBy,
  reason: reason === null ? null : `${action}: ${reason}`,
});

/** Records which types of VMs were changed, and which could not be. */
export function recordChanges(
  journal: Journal,
  transition: Transition,
  changes: readonly TypeChanges[],
  outcomes: readonly Unpatched[],
): void {
  const act = actOf('machine type', transition);
  for (const { from, to, vms } of changes)
    journal.done({ ...act, vms, from: from ?? 'default', to: to ?? 'default' }, { end: 'Done' });
  const { scope, to } = transition;
  const types = scope.undoes === null ? { from: scope.glob, to: to ?? 'default' } : { to: `as before ${scope.undoes}` };
  for (const { vm, end, message } of outcomes) journal.done({ ...act, vms: [vm], ...types }, { end, message });
}
