import type { VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';
import { probationOf } from './sickness.ts';

/**
 * What a worker knows of all guests of a VM that have ended: it has followed them without a gap since the VM was made.
 */
export interface Witness {
  /** How long the one ran that ran longest, in milliseconds; 0 where none ran, or none past its liveness probe. */
  longestRunMs: number;
  /** UID of the guest's VMI that ended last; null where none has. */
  lastEnded: string | null;
}

export interface ProofInput {
  vm: Pick<VmView, 'notYetRun' | 'lastFailedVmi'>;
  vmi: VmiView | undefined;
  /** Null where this worker has not followed the VM since it was made. */
  witness: Witness | null;
  minReadyMs: number;
  /** Milliseconds since the epoch. */
  now: number;
}

/**
 * Whether it is certain that no guest of the VM has ever run, so that its disks hold nothing of its own. `behind`: the
 * worker has yet to hear of a guest that KubeVirt speaks of. The mark of the VM alone proves nothing, for nobody may
 * have been there to take it off.
 */
export function proofOf({
  vm: { notYetRun, lastFailedVmi },
  vmi,
  witness,
  minReadyMs,
  now,
}: ProofInput): 'proven' | 'behind' | 'none' {
  if (notYetRun === null || (vmi !== undefined && hasRunFor(vmi, minReadyMs, now))) return 'none';
  if (witness !== null) {
    if (witness.longestRunMs > minReadyMs) return 'none';
    return lastFailedVmi === null || lastFailedVmi === witness.lastEnded ? 'proven' : 'behind';
  }
  // KubeVirt forgets a failed start when a guest runs. One that it still speaks of, and up to which nothing had run,
  // leaves room for none.
  return notYetRun !== '' && (notYetRun === lastFailedVmi || notYetRun === vmi?.uid) ? 'proven' : 'none';
}

/**
 * The start to be noted on a VM of which it is certain that it never ran: a worker that begins later goes on from
 * there. Null where all is noted.
 */
export function startToNote({ vm: { notYetRun, lastFailedVmi }, vmi }: Pick<ProofInput, 'vm' | 'vmi'>): string | null {
  const newest = lastFailedVmi === null ? null : (vmi?.uid ?? lastFailedVmi);
  return newest === notYetRun ? null : newest;
}

/**
 * How long a guest ran that has ended by `now`, past what its liveness probe may take to judge it; 0 where it did not.
 */
export function runOf({ runningSince, endedAt, probationMs }: VmiView, now: number): number {
  if (runningSince === null) return 0;
  const ran = Math.max((endedAt ?? now) - runningSince, 1);
  return ran > (probationMs ?? 0) ? ran : 0;
}

/** True for a guest that has run for longer than a start may take to pass, ready or not. */
function hasRunFor(vmi: VmiView, minReadyMs: number, now: number): boolean {
  const { runningSince, endedAt } = vmi;
  return runningSince !== null && Math.max((endedAt ?? now) - runningSince, 1) > probationOf(vmi, minReadyMs);
}
