import type { OwnerReference } from '../../api/objects.ts';
import type { Tracked } from './owner-graph.ts';

export const ORPHAN = 'orphan';
export const FOREGROUND = 'foregroundDeletion';

/** What garbage collection does with one object. */
type Collection =
  | { do: 'nothing' }
  /** Delete it: all its owners are gone. */
  | { do: 'delete' }
  /** Keep only these owner references: the other owners are gone. */
  | { do: 'disown'; keep: OwnerReference[] }
  /** Remove it from its dependents' owner references, then remove its finalizer. */
  | { do: 'orphan' }
  /** Delete these dependents, and remove the finalizer if `waitFor`, the number of blocking dependents, is 0. */
  | { do: 'foreground'; remove: Tracked[]; waitFor: number };

/** `gone`: UIDs of its owners that are known to be deleted. */
export function collectGarbage(object: Tracked, dependents: readonly Tracked[], gone: ReadonlySet<string>): Collection {
  if (object.deleting) {
    if (object.finalizers.includes(ORPHAN)) return { do: 'orphan' };
    if (!object.finalizers.includes(FOREGROUND)) return { do: 'nothing' };
    const blocking = dependents.filter((dependent) =>
      dependent.owners.some(({ uid, blockOwnerDeletion }) => uid === object.uid && blockOwnerDeletion),
    );
    return { do: 'foreground', remove: dependents.filter(({ deleting }) => !deleting), waitFor: blocking.length };
  }
  if (gone.size === 0) return { do: 'nothing' };
  const keep = object.owners.filter(({ uid }) => !gone.has(uid));
  return keep.length === 0 ? { do: 'delete' } : { do: 'disown', keep };
}
