import { DEFAULT_REVISION_HISTORY_LIMIT } from '../../api/pool-defaults.ts';
import type { PoolTemplate } from '../pool/template.ts';
import type { StoredPool } from '../views/pool.ts';

/** A template of a pool that is kept as a ControllerRevision. */
export interface KeptRevision {
  /** Of the ControllerRevision. */
  name: string;
  revision: string;
  /** The newest has the highest. */
  number: number;
  /** Null where somebody else put something else there. */
  template: PoolTemplate | null;
}

/** Names of those that no VM, no guest and no rollout uses, beyond the newest `revisionHistoryLimit`. */
export function revisionsToPrune(
  { spec }: StoredPool,
  revisions: readonly KeptRevision[],
  inUse: ReadonlySet<string | null>,
): string[] {
  const unused = revisions
    .filter(({ revision }) => !inUse.has(revision))
    .toSorted((one, other) => other.number - one.number);
  return unused.slice(spec.revisionHistoryLimit ?? DEFAULT_REVISION_HISTORY_LIMIT).map(({ name }) => name);
}
