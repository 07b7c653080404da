import { isEarlier, VERSIONED, type ResourceVersions } from '../lib/resource-versions.ts';

/**
 * Type of the failure by which a run ends when the API server was restored from a backup: the operation then begins
 * anew, as if Temporal had lost the run.
 */
export const RESTORED = 'Restored';

/** What a run has seen of the cluster: the versions of the caches, and that of its operation. */
export interface SeenByRun {
  minVersions: ResourceVersions;
  /** Undefined if it was not seen yet. */
  operationVersion?: string | undefined;
}

/**
 * Reports whether the API server has less than a run has seen, so that it was restored from a backup: what the run has
 * done since that backup was made is no longer done. Caches that were never listed have the version 0.
 */
export const isRestoredSince = (seen: SeenByRun, now: SeenByRun): boolean =>
  isEarlier(now.operationVersion, seen.operationVersion) ||
  VERSIONED.some((kind) => now.minVersions[kind] !== '0' && isEarlier(now.minVersions[kind], seen.minVersions[kind]));
