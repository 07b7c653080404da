import { controllerOf, type Stored } from '../../../api/objects.ts';
import type { ControllerRevision } from '../../../decisions/from-object/revision.ts';
import { recordOf, type RevisionRecord } from '../../pool/revisions.ts';

/** A template that a pool has or had, and the UID of the pool; null for a ControllerRevision of anything else. */
export type SeenRevision = { pool: string; record: RevisionRecord } | null;

export function seenRevision(object: Stored<ControllerRevision>): SeenRevision {
  const record = recordOf(object);
  const pool = controllerOf(object)?.uid;
  return record === null || pool === undefined ? null : { pool, record };
}

/** The templates that pools have and had, as they are watched. */
export class Revisions {
  readonly #pools = new Map<string, Map<string, RevisionRecord>>();

  set(before: SeenRevision | undefined, after: SeenRevision | undefined): void {
    if (before != null) this.#pools.get(before.pool)?.delete(before.record.hash);
    if (after == null) return;
    const all = this.#pools.get(after.pool) ?? new Map<string, RevisionRecord>();
    this.#pools.set(after.pool, all.set(after.record.hash, after.record));
  }

  /** The oldest first; none if none is recorded yet, or the user may not see them. */
  of(pool: string): RevisionRecord[] {
    return [...(this.#pools.get(pool)?.values() ?? [])].sort((a, b) => a.number - b.number);
  }
}
