import type { VmView } from '../views/vm.ts';

/**
 * Ids of the other transitions whose records or marks are on VMs: those still running keep others away from their VMs.
 */
export function othersOf(vms: Iterable<Pick<VmView, 'transition' | 'transitionMark'>>, id: string): Set<string> {
  const ids = new Set<string>();
  for (const { transition, transitionMark } of vms) {
    if (transitionMark !== null) ids.add(transitionMark);
    if (transition !== null) ids.add(transition.id);
  }
  ids.delete(id);
  return ids;
}
