import { formatNames } from '../lib/names.ts';
import type { VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';

/** A member that is being deleted, and what holds it. */
export interface Terminating {
  name: string;
  /** Finalizers of others; null if nothing is known to hold it. */
  heldBy: string | null;
}

/** Returns what holds a VM that is going: its own finalizers, or those of its VMI, which has to go first. */
export const holdOf = (vm: Pick<VmView, 'heldBy'>, vmi: Pick<VmiView, 'heldBy'> | undefined): string | null =>
  vm.heldBy ?? (vmi?.heldBy == null ? null : `${vmi.heldBy} of its VMI`);

export const terminatingVms = (vms: readonly VmView[], vmiOf: (vm: VmView) => VmiView | undefined): Terminating[] =>
  vms
    .filter(({ deleting, removing }) => deleting || removing)
    .map((vm) => ({ name: vm.name, heldBy: holdOf(vm, vmiOf(vm)) }));

/** Names what finalizers of others hold. */
export function formatTerminating(going: readonly Terminating[]): string[] {
  const holds = Map.groupBy(
    going.filter(({ heldBy }) => heldBy !== null),
    ({ heldBy }) => heldBy,
  );
  return [...holds].map(([by, held]) => `${formatNames(held.map(({ name }) => name))} held by the finalizer ${by}`);
}
