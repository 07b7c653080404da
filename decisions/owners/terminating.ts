import { formatNames } from '../lib/names.ts';
import type { VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';

/** A member that is being deleted, and what holds it. */
export interface Terminating {
  name: string;
  /** Finalizers of others; null if nothing is known to hold it. */
  blockedBy: string | null;
}

/** Returns what holds a VM that is going: its own finalizers, or those of its VMI, which has to go first. */
export const deletionBlockedBy = (
  vm: Pick<VmView, 'blockedBy'>,
  vmi: Pick<VmiView, 'blockedBy'> | undefined,
): string | null => vm.blockedBy ?? (vmi?.blockedBy == null ? null : `${vmi.blockedBy} of its VMI`);

export const terminatingVms = (vms: readonly VmView[], vmiOf: (vm: VmView) => VmiView | undefined): Terminating[] =>
  vms
    .filter(({ deleting, removing }) => deleting || removing)
    .map((vm) => ({ name: vm.name, blockedBy: deletionBlockedBy(vm, vmiOf(vm)) }));

/** Names what finalizers of others hold. */
export function formatTerminating(going: readonly Terminating[]): string[] {
  const byFinalizer = Map.groupBy(
    going.filter(({ blockedBy }) => blockedBy !== null),
    ({ blockedBy }) => blockedBy,
  );
  return [...byFinalizer].map(
    ([by, members]) => `${formatNames(members.map(({ name }) => name))} held by the finalizer ${by}`,
  );
}
