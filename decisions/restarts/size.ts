/**
 * How large a restart of many VMs may get. What it knows goes from run to run in one payload, and its answer to
 * `progress` is one too: Temporal takes none of more than 2 MiB. Names are most of it, and these are known when it
 * begins.
 */

/** One VM that could not be restarted. */
export interface FailedRestart {
  vm: string;
  /** Empty for all but the last hundred: thousands may fail. */
  why: string;
  /** It was not ready before either. */
  wasDown: boolean;
}

/** Bytes that the names may take in JSON. The rest of the 2 MiB is for what is said besides. */
export const MOST_BYTES = 1_800_000;

/** What stands around the name of a VM that has failed, the longest of all that may become of it. */
const FAILED = JSON.stringify({ vm: '', why: '', wasDown: false } satisfies FailedRestart).length + 1;

/**
 * Bytes that the names of the VMs take: once with the UIDs of their guests, once where it is told what became of each.
 */
export function bytesOfNames(guests: Readonly<Record<string, Readonly<Record<string, string>>>>): number {
  let bytes = JSON.stringify(guests).length;
  for (const [namespace, byName] of Object.entries(guests))
    for (const name of Object.keys(byName)) bytes += namespace.length + 1 + name.length + FAILED;
  return bytes;
}

const REASONS_KEPT = 100;
const WHY_LENGTH = 300;

/** Adds the last failure; the oldest that has a reason gives it up for it. */
export function noteFailure(failed: FailedRestart[], failure: FailedRestart): void {
  failed.push({ ...failure, why: failure.why.slice(0, WHY_LENGTH) });
  const older = failed.at(-1 - REASONS_KEPT);
  if (older !== undefined) older.why = '';
}
