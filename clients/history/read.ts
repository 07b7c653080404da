import type { WorkflowHandle } from '@temporalio/client';
import type { Act } from '../../decisions/history/act.ts';
import { mayActIn, operationOfKey } from '../../decisions/operations/ref.ts';
import type { PoolRef } from '../../workflows/lib/ids.ts';
import { acts as recorded } from '../../workflows/lib/messages.ts';
import { mapAtOnce } from '../cli/at-once.ts';
import { Failure, sentenceOf } from '../cli/failure.ts';
import { OWNERS, Pools, type OwnerKind } from '../cli/kinds.ts';
import type { Session } from '../session/session.ts';
import { GrpcCode, grpcCodeOf, isWorkflowNotFound } from '../session/temporal.ts';
import { missingWorkers } from '../session/workers.ts';
import { withOrigins, type Origin } from './origins.ts';
import { aboutVm } from './table.ts';

const AT_ONCE = 8;

interface ReadOptions {
  /** Returns the origins of a pool's kept templates, by pool name; empty if the pool is deleted. */
  revisionsOf: (pool: string) => Promise<Origin[]>;
  /** Leaves out what was over by then; milliseconds since the epoch. */
  since: number | null;
  /** Called with a sentence for each workflow that can't be asked. */
  note: (sentence: string) => void;
}

/** Returns what was done to the VMs of a pool or replica set as far as it is on record, the oldest first. */
export async function readActs(session: Session, kind: OwnerKind, ref: PoolRef, options: ReadOptions): Promise<Act[]> {
  const { namespace, name } = ref;
  const own = await readOwn(session, kind, ref, options);
  const members = new Set(own.flatMap(({ vms }) => vms));
  const isOf = (key: string): boolean => {
    const vm = nameIn(namespace, key);
    return vm !== null && (members.has(vm) || kind.hasNamed(name, vm));
  };
  return inOrder([...own, ...(await readRuns(session, ref, options, isOf))], options);
}

/**
 * As `readActs`, for one VM of any owner: its restarts and machine type transitions and, if the VM is named like one
 * of a pool or replica set, what those did to it.
 */
export async function readActsOfVm(session: Session, ref: PoolRef, options: ReadOptions): Promise<Act[]> {
  const { namespace, name } = ref;
  const owner = name.slice(0, Math.max(name.lastIndexOf('-'), 0));
  const kinds = OWNERS.filter(({ hasNamed }) => hasNamed(owner, name));
  const own = await Promise.all(kinds.map((kind) => readOwn(session, kind, { ...ref, name: owner }, options)));
  const runs = await readRuns(session, ref, options, (key) => nameIn(namespace, key) === name);
  return inOrder([...aboutVm(own.flat(), name), ...runs], options);
}

/** Returns what a workflow has on record over all its runs, the oldest first. Throws if it can't be asked. */
export async function actsOfWorkflow(session: Session, workflowId: string): Promise<Act[]> {
  const runs = await listRuns(session, `WorkflowId = '${workflowId}'`);
  return (await Promise.all(runs.map((run) => actsOf(session, run)))).flat();
}

async function readOwn(session: Session, kind: OwnerKind, ref: PoolRef, options: ReadOptions): Promise<Act[]> {
  const { read: own, problems } = await readListed(session, `WorkflowId = '${kind.workflowId(ref)}'`, options);
  if (own.length === 0 && problems.length > 0) throw problems[0]!;
  noteEach(problems, options);
  return own.length === 0 || kind !== Pools ? own : withOrigins(own, await options.revisionsOf(ref.name));
}

/** What runs did that users have started, to what is wanted: they may be about thousands of other VMs. */
async function readRuns(
  session: Session,
  { cluster, namespace }: PoolRef,
  options: ReadOptions,
  isWanted: (key: string) => boolean,
): Promise<Act[]> {
  const query =
    `DroverCluster = '${cluster}' AND WorkflowType = 'operation'` +
    ` AND (DroverNamespaces = '${namespace}' OR DroverNamespaces IS NULL)`;
  const { read, problems } = await readListed(session, query, options, (id) => mayActIn(id.split('/')[2], namespace));
  noteEach(problems, options);
  return read.flatMap((act) => {
    const vms = act.vms.filter(isWanted).flatMap((key) => nameIn(namespace, key) ?? []);
    return vms.length > 0 ? [{ ...act, vms }] : [];
  });
}

const noteEach = (problems: readonly Failure[], { note }: ReadOptions): void =>
  problems.forEach(({ message }) => note(message));

/**
 * What is on record in the workflows that a query lists, as far as they are wanted by their id; `problems`: which could
 * not be asked.
 */
async function readListed(
  session: Session,
  query: string,
  { since }: ReadOptions,
  isWanted: (id: string) => boolean = () => true,
): Promise<{ read: Act[]; problems: Failure[] }> {
  const ends = since === null ? '' : ` AND (CloseTime IS NULL OR CloseTime >= '${new Date(since).toISOString()}')`;
  const listed = (await listRuns(session, query + ends)).filter(({ workflowId }) => isWanted(workflowId));
  const tried = await mapAtOnce(listed, AT_ONCE, (run) =>
    actsOf(session, run).catch(
      (error: unknown) =>
        new Failure(`what ${run.workflowId} did is not known: ${sentenceOf(error)}`, { cause: error }),
    ),
  );
  const problems = tried.filter((acts) => acts instanceof Failure);
  return { read: tried.flatMap((acts) => (acts instanceof Failure ? [] : acts)), problems };
}

interface Run {
  workflowId: string;
  runId: string;
  status: string;
}

/** Lists the last run of each workflow: it tells what those before it have handed on. */
async function listRuns(session: Session, query: string): Promise<Run[]> {
  const { client } = await session.temporal();
  const listed: Run[] = [];
  try {
    const last = `${query} AND ExecutionStatus != 'ContinuedAsNew'`;
    for await (const { workflowId, runId, status } of client.workflow.list({ query: last }))
      listed.push({ workflowId, runId, status: status.name });
    return listed;
  } catch (error) {
    if (grpcCodeOf(error) !== GrpcCode.INVALID_ARGUMENT) throw error;
    throw new Failure(
      `Temporal cannot look for drover's workflows (${sentenceOf(error)}): run \`drover setup\` first`,
      { cause: error },
    );
  }
}

/** A workflow that has ended with a result needs no worker to answer. */
async function actsOf(session: Session, { workflowId, runId, status }: Run): Promise<Act[]> {
  const { client } = await session.temporal();
  const handle = client.workflow.getHandle(workflowId, runId);
  if (status === 'COMPLETED')
    return ((await session.untilAnswered(handle.result())) as { acts?: Act[] } | undefined)?.acts ?? [];
  const acts = await queryActs(session, handle);
  if (status === 'RUNNING') return acts;
  const message = `its workflow was ${ENDED[status] ?? 'ended'}`;
  return acts.map((act) => (act.end === 'InProgress' ? { ...act, end: 'Unknown', message } : act));
}

/** Milliseconds, after which the query is sent again: a worker that died takes its queries with it. */
const ANSWER_MS = 5_000;

/** Throws `Failure` if no worker answers. */
async function queryActs(session: Session, handle: WorkflowHandle): Promise<Act[]> {
  const { connection } = await session.temporal();
  const query = (): Promise<Act[]> => handle.query(recorded);
  try {
    return await session.untilAnswered(connection.withDeadline(Date.now() + ANSWER_MS, query));
  } catch (error) {
    if (isWorkflowNotFound(error)) throw new Failure(`there is no ${handle.workflowId}`, { cause: error });
    const [, , ...key] = handle.workflowId.split('/');
    const missing = await missingWorkers(session, operationOfKey(key.join('/')).namespace);
    throw new Failure(missing ?? `${handle.workflowId} does not answer: ${sentenceOf(error)}`, { cause: error });
  }
}

const ENDED: Record<string, string> = {
  TERMINATED: 'terminated',
  CANCELLED: 'canceled',
  TIMED_OUT: 'timed out',
  FAILED: 'failed',
};

/** The oldest first, without what was over by `since`. */
export const inOrder = (read: Act[], { since }: Pick<ReadOptions, 'since'>): Act[] =>
  read
    .filter(({ endedAt }) => since === null || endedAt === null || Date.parse(endedAt) >= since)
    .sort((a, b) => a.time.localeCompare(b.time) || a.workflow.localeCompare(b.workflow));

/** The name of a VM, of its key; null if that is one of another namespace. */
const nameIn = (namespace: string, key: string): string | null =>
  key.startsWith(`${namespace}/`) ? key.slice(namespace.length + 1) : null;
