import type { Stored } from '../../api/objects.ts';
import { revisionOf } from '../../decisions/template/revision.ts';
import { poolTemplate } from '../../decisions/template/template.ts';
import type { Pool } from '../../decisions/views/pool.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { Failure } from '../cli/failure.ts';
import { Pools } from '../cli/kinds.ts';
import type { DryRun } from '../cli/parse-values.ts';
import { dryRunSuffix, labelOf, printResult, type CommandResult } from '../cli/print.ts';
import { namedPools } from '../pool/named-pools.ts';
import { findRevision, formatRevision, readRevisions, type Revision, type RevisionRecord } from '../pool/revisions.ts';
import type { Work } from '../session/session.ts';
import { changeTemplate, rolloutNotes } from './change-template.ts';

interface UndoOptions {
  /** Number or hash of the revision; by default the one of `undoTarget`. */
  toRevision?: string | undefined;
  reason?: string | undefined;
  dryRun: DryRun;
}

/** Gives pools an earlier template again, and says so. */
export const undoRollouts: Work<UndoOptions> = async (session, options, ...args) => {
  const pools = await namedPools(session, args);
  const kube = await session.kube();
  for (const pool of pools) printResult(await undoRollout(kube, pool, options));
};

/** Gives the pool an earlier template again. Returns what was done, in a sentence, and what else users should know. */
export async function undoRollout(
  kube: KubeClient,
  pool: Stored<Pool>,
  { toRevision, reason, dryRun }: UndoOptions,
): Promise<CommandResult> {
  const label = labelOf(Pools.resource, pool.metadata.name);
  const revisions = await readRevisions(kube, pool);
  const target = undoTarget(pool, revisions, toRevision);
  if (target.hash === revisionOf(poolTemplate(pool.spec))) {
    const sentence = `${label} unchanged: it already has the template of revision ${formatRevision(target)}`;
    return { sentence, notes: [] };
  }
  const message = reason ?? target.changeCause;
  const cause = `${undoTo(target)}${message === null ? '' : `: ${message}`}`;
  await changeTemplate(kube, pool, { template: target.template, cause }, dryRun);
  const sentence = `${label} ${formatUndone(target, revisions)}${dryRunSuffix(dryRun)}`;
  return { sentence, notes: rolloutNotes(pool) };
}

const undoTo = (target: RevisionRecord): string => `undo to revision ${formatRevision(target)}`;

/** Whether an undo has set the template last. Its hash in the cause: a cause may outlive the template it was for. */
export const isUndo = ({ hash, changeCause }: Pick<RevisionRecord, 'hash' | 'changeCause'>): boolean =>
  changeCause?.startsWith('undo to revision ') === true && changeCause.includes(`(${hash})`);

/**
 * Returns the revision that an undo goes back to: the requested one, else the last revision that all VMs had, else the
 * newest other than the template's. Throws `Failure` if there is none.
 */
export function undoTarget<R extends RevisionRecord>(
  { metadata: { name }, spec, status }: Stored<Pool>,
  revisions: readonly R[],
  requested?: string,
): R {
  if (requested !== undefined) return findRevision(revisions, requested, name);
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
