import { setTimeout as sleep } from 'node:timers/promises';

const LOOK_MS = 3_000;

/** A run of the watch of the cluster, as Temporal knows it. */
export interface WatchRun {
  runId: string;
  isOpen: boolean;
  /** How often the run was changed: with each heartbeat of the worker that watches, thus every few seconds. */
  transitions: number;
}

interface RestoredOptions {
  /** Returns this run of the watch, or the current run; null if Temporal knows none. */
  describe: (runId: string | undefined) => Promise<WatchRun | null>;
  signal: AbortSignal;
  everyMs?: number;
}

/**
 * Ends when Temporal was restored to an earlier moment, or has lost what it knew. A worker must not continue then: it
 * keeps workflows in its memory, treats the tasks of their shorter histories as done, and completes them silently.
 *
 * The run of the watch shows it: it changes all the time, and is kept for days. So a run that no longer exists, or was
 * changed less often than before, was restored. A run that Temporal doesn't know counts from the second look: a server
 * that is just starting may not have read its namespaces.
 */
export async function untilTemporalRestored({ describe, signal, everyMs = LOOK_MS }: RestoredOptions): Promise<void> {
  let known: WatchRun | null = null;
  let isMissing = false;
  for (;;) {
    try {
      const now = await describe(known?.runId);
      if (known !== null && now === null && isMissing) return;
      if (known !== null && now !== null && now.transitions < known.transitions) return;
      isMissing = known !== null && now === null;
      if (!isMissing) known = now?.isOpen === true ? now : null;
    } catch {
      // Temporal does not answer, and is asked again.
    }
    await sleep(everyMs, undefined, { signal, ref: false });
  }
}
