import type { VmView } from '../views/vm.ts';
import { isFinal, type VmiView } from '../views/vmi.ts';

/** How long after its grace period Kubernetes kills the pod of a VMI (virt-controller, `services/template.go`). */
const KILL_MS = 30_000;

/** Since when a VM is being restarted or stopped, and what its VMI was given to shut down. */
interface Shutdown {
  /** Milliseconds since the epoch. */
  since: number;
  /** The grace period of the VMI that is to end, in milliseconds; absent if the VM had none. */
  graceMs?: number;
}

/** What a restart or a stop notes of the VMI that it ends. */
export const graceOf = (vmi: VmiView | undefined): Pick<Shutdown, 'graceMs'> =>
  vmi === undefined ? {} : { graceMs: vmi.graceMs };

/**
 * Returns since when the time counts that a VM may take to be up again, in milliseconds since the epoch: since its old
 * VMI has ended, because guests use the whole grace period; at the latest since the grace period is over. `isOld`:
 * whether its VMI is still the VMI that is to end.
 */
export function countsFrom(
  { since, graceMs }: Shutdown,
  vm: VmView | undefined,
  vmi: VmiView | undefined,
  isOld: (vmi: VmiView) => boolean,
): number {
  if (graceMs === undefined) return since;
  const graceOver = since + graceMs;
  if (vmi !== undefined && !isFinal(vmi) && isOld(vmi)) return graceOver + KILL_MS;
  const ended = endOf(vm, vmi) ?? graceOver;
  // New VMIs that fail one after the other are each younger.
  return Math.min(Math.max(ended, since), graceOver);
}

/** When the old VMI has ended, or a moment later; null if that is not known. */
function endOf(vm: VmView | undefined, vmi: VmiView | undefined): number | null {
  if (vmi !== undefined) return isFinal(vmi) ? vmi.endedAt : vmi.createdAt;
  // A VM that is known to be without a VMI says since when; before that, since when its guest shuts down.
  return vm === undefined || vm.hasVmi ? null : vm.notReadySince;
}

/** Until when a VMI that is shutting down has its time, in milliseconds since the epoch; null if it is not. */
export const shutsDownUntil = (vmi: VmiView | undefined): number | null =>
  vmi?.deletingSince == null || isFinal(vmi) ? null : vmi.deletingSince + vmi.graceMs + KILL_MS;
