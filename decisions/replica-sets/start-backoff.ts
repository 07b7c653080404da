import { doubling } from '../lib/backoff.ts';
import type { Failure } from '../owners/failures.ts';
import type { StoredSet } from '../views/owner.ts';
import { hasEnded, type VmiView } from '../views/vmi.ts';

const delayMs = doubling(10_000, 300_000);
/** A VMI that ends sooner has not come up: without a readiness probe, a VMI that crashes at once was ready, too. */
const LEAST_RUN_MS = 10_000;

/**
 * Starts of VMIs that have failed since one came up. Plain data: a run of the workflow hands it to the next. Times are
 * those of the API server's clock.
 */
export interface FailedStarts {
  /** How often in a row. VMIs that were made before the last delay was over count as one failure. */
  inARow: number;
  /** When the first and the last were seen; milliseconds since the epoch. */
  since: number;
  seenAt: number;
  /** When the next VMI may be made; milliseconds since the epoch. */
  retryAt: number;
  /** Hash of all in the spec that decides how a start goes: an autoscaler changes the spec all the time. */
  specHash: string;
  /** The VMI that failed last, and KubeVirt's words for why; null if it gives none. */
  vmi: string;
  message: string | null;
}

/**
 * How long nothing is made after this many failures in a row (from 1), in milliseconds. The first may be due to a node,
 * or to a user who deletes a pod: it delays nothing.
 */
export const startDelayMs = (inARow: number): number => (inARow === 1 ? 0 : delayMs(inARow - 1));

/** Whether VMIs that are missing wait. */
const isDelayed = ({ inARow }: FailedStarts): boolean => inARow > 1;

/** From when on VMIs must have been made for their failure to be the next; the API server counts in whole seconds. */
const nextFrom = ({ seenAt, inARow }: FailedStarts): number =>
  Math.floor((seenAt + startDelayMs(inARow)) / 1000) * 1000;

interface StartsInput {
  set: StoredSet;
  /** All VMIs that the set controls. */
  vmis: readonly VmiView[];
  before: FailedStarts | null;
  specHash: string;
  /** Milliseconds since the epoch. */
  now: number;
}

/**
 * Returns what is known of failed starts now: null if there were none since the template changed or a VMI came up.
 * `wakeAt`: when a VMI will have come up, if nothing happens to it.
 */
export function failedStarts(input: StartsInput): { starts: FailedStarts | null; requeueAt: number | null } {
  const { set, vmis, specHash, now } = input;
  const before = input.before?.specHash === specHash ? input.before : null;
  const leastMs = (vmi: VmiView): number =>
    Math.max(LEAST_RUN_MS, (set.spec.minReadySeconds ?? 0) * 1000, vmi.probationMs ?? 0);
  const from = before === null ? -Infinity : nextFrom(before);
  const failed = vmis.filter((vmi) => !vmi.deleting && vmi.createdAt >= from && hasFailedToStart(vmi, leastMs(vmi)));
  const last = failed.at(-1);
  if (last !== undefined) {
    const inARow = (before?.inARow ?? 0) + 1;
    const retryAt = now + startDelayMs(inARow);
    const { name: vmi, whyNotReady: message } = last;
    const since = before?.since ?? now;
    return { starts: { inARow, since, seenAt: now, retryAt, specHash, vmi, message }, requeueAt: null };
  }
  if (before === null) return { starts: null, requeueAt: null };
  const times = vmis.flatMap((vmi) => upAt(vmi, leastMs(vmi))).filter((time) => time > before.seenAt);
  if (times.some((time) => time <= now)) return { starts: null, requeueAt: null };
  return { starts: before, requeueAt: times.length === 0 ? null : times.reduce((a, b) => Math.min(a, b)) };
}

/** When a VMI that is ready has come up. */
const upAt = (vmi: VmiView, leastMs: number): number[] =>
  vmi.ready && !vmi.deleting && !vmi.nodeLost && !hasEnded(vmi) && vmi.runningSince !== null
    ? [vmi.runningSince + leastMs]
    : [];

/** If KubeVirt does not say when it ended, it was when it was last ready. */
const hasFailedToStart = (vmi: VmiView, leastMs: number): boolean =>
  hasEnded(vmi) &&
  (vmi.runningSince === null || (vmi.endedAt ?? vmi.readySince ?? Infinity) - vmi.runningSince < leastMs);

/** How many of the missing VMIs may be made now: one at a time while starts fail again and again. */
export const startsAllowed = (starts: FailedStarts | null, now: number): number => {
  if (starts === null || !isDelayed(starts)) return Infinity;
  return now < starts.retryAt ? 0 : 1;
};

/** Notes that a VMI is made: the next waits as long, unless this one comes up before. */
export const afterStart = (starts: FailedStarts, now: number): FailedStarts => ({
  ...starts,
  retryAt: now + startDelayMs(starts.inARow),
});

/** Says what the set waits for; null if nothing. */
export function startFailure(starts: FailedStarts | null): Failure | null {
  if (starts === null || !isDelayed(starts)) return null;
  const { inARow, since, retryAt, vmi, message } = starts;
  const because = message === null ? '' : ` (${message})`;
  return {
    reason: 'FailedStart',
    message:
      `${vmi} ended before it had come up${because}, as others did ${inARow} times in a row: the next is made at ` +
      `${new Date(retryAt).toISOString()}, and all that are missing once one has come up or the template has changed`,
    since: new Date(since).toISOString(),
  };
}
