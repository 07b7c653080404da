import type { Stored } from '../../api/objects.ts';
import { revisionOf } from '../../decisions/template/revision.ts';
import { poolTemplate } from '../../decisions/template/template.ts';
import type { Pool } from '../../decisions/views/pool.ts';
import { Failure } from '../cli/failure.ts';
import { findRevision, formatRevision, type Revision } from './revisions.ts';

/**
 * Returns the revision that an undo goes back to: the one asked for, else the last one that all VMs had, else the
 * newest other than the template's. Throws `Failure` if there is none.
 */
export function undoTarget(
  { metadata: { name }, spec, status }: Stored<Pool>,
  revisions: Revision[],
  asked?: string,
): Revision {
  if (asked !== undefined) return findRevision(revisions, asked, name);
  const others = revisions.filter(({ hash }) => hash !== revisionOf(poolTemplate(spec)));
  const target = others.find(({ hash }) => hash === status?.currentRevision) ?? others.at(-1);
  if (target === undefined) throw new Failure(`pool ${name} has no other revision to go back to`);
  return target;
}

/** The outcome of an undo. A worker makes this template the newest revision again, and renumbers it if needed. */
export function formatUndone(target: Revision, revisions: Revision[]): string {
  const newest = Math.max(...revisions.filter(({ hash }) => hash !== target.hash).map(({ number }) => number), 0);
  const renumbered = target.number > newest ? '' : `, which becomes revision ${newest + 1}`;
  return `has the template of revision ${formatRevision(target)} again${renumbered}`;
}
