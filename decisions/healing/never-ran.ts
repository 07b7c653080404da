import type { VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';
import { probationOf } from './vm-health.ts';

/** What a worker knows of all ended VMIs of a VM that it has watched without a gap since the VM's creation. */
export interface VmiHistory {
  /** The longest run of a VMI, in milliseconds; 0 if none ran, or none past the probation of its liveness probe. */
  longestRunMs: number;
  /** UID of the VMI that ended last; null if none has. */
  lastEnded: string | null;
}

interface NeverRanInput {
  vm: Pick<VmView, 'notYetRun' | 'lastFailedVmi' | 'startFailures' | 'createdAt'>;
  vmi: VmiView | undefined;
  /** Null if this worker has not watched the VM since its creation. */
  vmiHistory: VmiHistory | null;
  minReadyMs: number;
  /** Milliseconds since the epoch. */
  now: number;
}

/** At most this long after a failed start, the next has failed: KubeVirt waits up to 5 minutes between two. */
const FAILED_START_MS = 15 * 60_000;

/**
 * Reports whether it is certain (`certain`) that no VMI of the VM has ever run, so that its disks hold no data.
 * `behind`: this worker has not yet seen a VMI that KubeVirt's status names. The VM's annotation alone proves nothing:
 * perhaps no worker was running to remove it, and every client that may change the VM can write it.
 */
export function neverRan({ vm, vmi, vmiHistory, minReadyMs, now }: NeverRanInput): 'certain' | 'behind' | 'none' {
  const { notYetRun, lastFailedVmi, startFailures, createdAt } = vm;
  if (notYetRun === null || (vmi !== undefined && hasRunFor(vmi, minReadyMs, now))) return 'none';
  if (vmiHistory !== null) {
    if (vmiHistory.longestRunMs > minReadyMs) return 'none';
    return lastFailedVmi === null || lastFailedVmi === vmiHistory.lastEnded ? 'certain' : 'behind';
  }
  // KubeVirt counts failed starts in a row: a VM that is older than these, and its disks, may have run before.
  if (now - createdAt > (startFailures + 1) * FAILED_START_MS) return 'none';
  // KubeVirt forgets a failed start when a VMI runs. If it still names the VMI up to which nothing had run, nothing
  // has run since.
  return notYetRun !== '' && (notYetRun === lastFailedVmi || notYetRun === vmi?.uid) ? 'certain' : 'none';
}

/**
 * The VMI to note on a VM that certainly never ran, so that a worker that starts later can continue from there. Null if
 * the note is up to date.
 */
export function startToRecord({ vm, vmi }: Pick<NeverRanInput, 'vm' | 'vmi'>): string | null {
  const { notYetRun, lastFailedVmi } = vm;
  const newest = lastFailedVmi === null ? null : (vmi?.uid ?? lastFailedVmi);
  return newest === notYetRun ? null : newest;
}

/**
 * How long a VMI that ended by `now` has run, in milliseconds; 0 if it never ran, or ended within the probation of
 * its liveness probe.
 */
export function runOf({ runningSince, endedAt, probationMs }: VmiView, now: number): number {
  if (runningSince === null) return 0;
  const ran = Math.max((endedAt ?? now) - runningSince, 1);
  return ran > (probationMs ?? 0) ? ran : 0;
}

/** True for a VMI that has run for longer than its probation, ready or not. */
function hasRunFor(vmi: VmiView, minReadyMs: number, now: number): boolean {
  const { runningSince, endedAt } = vmi;
  return runningSince !== null && Math.max((endedAt ?? now) - runningSince, 1) > probationOf(vmi, minReadyMs);
}
