import { DEFAULT_REVISION_HISTORY_LIMIT } from '../../api/rules/pool-defaults.ts';
import type { StoredPool } from '../views/pool.ts';
import type { PoolTemplate } from './template.ts';

/** A template of a pool that is kept as a ControllerRevision. */
export interface KeptRevision {
  /** Name of the ControllerRevision. */
  name: string;
  revision: string;
  /** The newest has the highest. */
  number: number;
  /** Null if the ControllerRevision holds something else, written by another client. */
  template: PoolTemplate | null;
}

/**
 * Returns the names of revisions to delete: unused by any VM, VMI, rollout or kept disk, and beyond the newest
 * `revisionHistoryLimit`.
 */
export function revisionsToPrune(
  { spec }: StoredPool,
  revisions: readonly KeptRevision[],
  inUse: ReadonlySet<string | null>,
): string[] {
  const unused = revisions.filter(({ revision }) => !inUse.has(revision)).toSorted((a, b) => b.number - a.number);
  return unused.slice(spec.revisionHistoryLimit ?? DEFAULT_REVISION_HISTORY_LIMIT).map(({ name }) => name);
}
