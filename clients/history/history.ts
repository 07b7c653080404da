import type { Act } from '../../decisions/history/act.ts';
import type { Pool } from '../../decisions/views/pool.ts';
import { UsageError } from '../cli/failure.ts';
import { ownerKindOf, OWNERS, Pools, Vms } from '../cli/kinds.ts';
import { printNote, print, printData, type DataFormat } from '../cli/print.ts';
import { oneTargetOf } from '../cli/targets.ts';
import { readRevisions, type Revision } from '../pool/revisions.ts';
import type { Session, Work } from '../session/session.ts';
import { TemporalUnreachable } from '../session/temporal.ts';
import { warnOfUnknownCluster } from '../session/unknown-cluster.ts';
import { workersIn } from '../session/workers.ts';
import { actsInCluster, evictionsInCluster, type Subject } from './from-cluster.ts';
import { withQueued } from './queued.ts';
import { inOrder, readActs, readActsOfVm } from './read.ts';
import { aboutVm, actionsTable, grouped } from './table.ts';

interface HistoryOptions {
  vm?: string;
  output?: DataFormat;
  /** Milliseconds. */
  since?: number;
}

/** Shows the history of a pool, replica set or VM, which may be deleted. */
export const showHistory: Work<HistoryOptions> = async (session, { vm, output, since }, ...args) => {
  const { kind, name } = oneTargetOf(args, [...OWNERS, Vms]);
  const owner = ownerKindOf(kind.resource.kind);
  if (owner === undefined && vm !== undefined)
    throw new UsageError('--vm chooses among the VMs of a pool or replica set');
  const namespace = await session.namespace();
  const from = since === undefined ? null : Date.now() - since;
  const isMember = (one: string): boolean => owner?.hasNamed(name, one) ?? one === name;
  const subject = { resource: kind.resource, namespace, name, isMember };
  const kube = await session.kube();
  const acts = await actsOnRecord(session, subject, { since: from, note: printNote }).catch((error: unknown) =>
    withoutTemporal(session, subject, error),
  );
  const all = await withQueued(kube, namespace, inOrder(acts, { since: from }));
  const actions = grouped(vm === undefined ? all : aboutVm(all, vm));
  if (actions.length === 0) await warnOfUnknownCluster(session, await workersIn(session, namespace));
  if (output !== undefined) return printData(actions, output);
  if (actions.length > 0) return print(actionsTable(actions, owner?.members.noun ?? 'VM'));
  // Throws if there is no such object either, because the name was mistyped.
  await kube.get(kind.resource, { namespace, name });
  const whose = owner === undefined ? `vm ${name}` : (vm ?? `${owner.members.noun}s of ${owner.noun} ${name}`);
  const sinceWhen = from === null ? '' : ` since ${new Date(from).toISOString().slice(0, 19)}Z`;
  printNote(`nothing is on record for ${whose}${sinceWhen}`);
};

/** Returns what Temporal has on record, and what no workflow knows of. Throws if Temporal can't be asked. */
export async function actsOnRecord(
  session: Session,
  subject: Subject,
  { since, note }: { since: number | null; note: (sentence: string) => void },
): Promise<Act[]> {
  const { resource, namespace, name } = subject;
  const owner = ownerKindOf(resource.kind);
  const ref = { cluster: await workersIn(session, namespace), namespace, name };
  const reading = { revisionsOf: (pool: string) => revisionsOf(session, namespace, pool), since, note };
  const acts = await (owner === undefined
    ? readActsOfVm(session, ref, reading)
    : readActs(session, owner, ref, reading));
  return [...acts, ...(await evictionsInCluster(await session.kube(), subject).catch(() => []))];
}

/** Returns what the cluster alone tells, and says so. Throws `error` again if Temporal does answer. */
async function withoutTemporal(session: Session, subject: Subject, error: unknown): Promise<Act[]> {
  if (!(error instanceof TemporalUnreachable)) throw error;
  printNote(`${error.message}; this is what the cluster alone shows: Events, operations, and templates that are kept`);
  const revisions =
    subject.resource === Pools.resource ? await revisionsOf(session, subject.namespace, subject.name) : [];
  return actsInCluster(await session.kube(), subject, revisions);
}

/** Returns [] if the pool is deleted or the user may not read it: the history is useful even without revisions. */
async function revisionsOf(session: Session, namespace: string, name: string): Promise<Revision[]> {
  const kube = await session.kube();
  return kube
    .get<Pool>(Pools.resource, { namespace, name })
    .then((pool) => readRevisions(kube, pool))
    .catch(() => []);
}
