import type { Client } from '@temporalio/client';
import type { PoolRef } from '../../workflows/ids.ts';
import { Failure, sentenceOf } from '../cli/failure.ts';
import { OWNERS, Pools, type OwnerKind } from '../cli/kinds.ts';
import { GrpcCode, grpcCodeOf } from '../session/temporal.ts';
import { actionsOf, healsOf, type Action } from './actions.ts';
import { wideActionsOf, type WideAction } from './any-owner.ts';
import { decodePayloads } from './decoded.ts';
import type { History } from './events.ts';
import { withOrigins, type Origin } from './origins.ts';
import { aboutVm } from './table.ts';

const AT_ONCE = 8;

/** Returns the origins of a pool's kept templates, by pool name; empty if the pool is deleted. */
type RevisionsOf = (pool: string) => Promise<Origin[]>;

/**
 * Returns all that Temporal still knows of what drover did to the VMs of a pool or replica set, the oldest first.
 * Throws `Failure` if Temporal lacks drover's search attributes.
 */
export async function readActions(
  client: Client,
  kind: OwnerKind,
  ref: PoolRef,
  revisionsOf: RevisionsOf,
): Promise<Action[]> {
  const { namespace, name } = ref;
  const own = await readOwn(client, kind, ref, revisionsOf);
  const key = `${namespace}/${name}`;
  const acted = new Set(own.flatMap(({ vms }) => vms));
  const isOf = (vm: string): boolean => {
    const vmName = vm.slice(namespace.length + 1);
    return vm.startsWith(`${namespace}/`) && (acted.has(vmName) || kind.hasNamed(name, vmName));
  };
  const wide = await readWide(
    client,
    ref,
    ({ vms, pools }) => (kind === Pools && pools.includes(key)) || vms.some(isOf),
  );
  return inOrder([...own, ...wide.map(inNamespace)]);
}

/**
 * As `readActions`, for one VM of any owner: its restarts and machine type transitions and, if the VM is named like one
 * of a pool or replica set, what those did to it.
 */
export async function readActionsOfVm(client: Client, ref: PoolRef, revisionsOf: RevisionsOf): Promise<Action[]> {
  const { namespace, name } = ref;
  const owner = name.slice(0, Math.max(name.lastIndexOf('-'), 0));
  const kinds = OWNERS.filter(({ hasNamed }) => hasNamed(owner, name));
  const own = await Promise.all(kinds.map((kind) => readOwn(client, kind, { ...ref, name: owner }, revisionsOf)));
  const wide = await readWide(client, ref, ({ vms }) => vms.includes(`${namespace}/${name}`));
  return inOrder([...aboutVm(own.flat(), name), ...wide.map(inNamespace)]);
}

/** What the workflows of one pool or replica set did, and its batches and healing cycles. */
async function readOwn(client: Client, kind: OwnerKind, ref: PoolRef, revisionsOf: RevisionsOf): Promise<Action[]> {
  const { cluster, namespace, name } = ref;
  const id = kind.workflowId(ref);
  const listed = await listRuns(
    client,
    `DroverCluster = '${cluster}' AND DroverNamespace = '${namespace}' AND ${kind.searchAttribute} = '${name}'`,
  );
  // Kinds of sets share a search attribute.
  const ours = listed.filter(({ workflowId }) => workflowId === id || workflowId.startsWith(`${id}/`));
  const read = await eachAtOnce(ours, async (run) => ({
    workflowId: run.workflowId,
    history: await historyOf(client, run),
  }));
  const runs = read.flatMap(({ workflowId, history }) => (history === null ? [] : [{ workflowId, history }]));
  const own = inOrder([...runs.flatMap(({ workflowId, history }) => actionsOf(workflowId, history)), ...healsOf(runs)]);
  return own.length === 0 || kind !== Pools ? own : withOrigins(own, await revisionsOf(name));
}

const inOrder = (actions: Action[]): Action[] =>
  actions.sort((one, other) => one.time.localeCompare(other.time) || one.workflow.localeCompare(other.workflow));

const inNamespace = ({ pools: _pools, vms, ...action }: WideAction): Action => ({
  ...action,
  vms: vms.map((vm) => vm.slice(vm.indexOf('/') + 1)),
});

/** What the runs did that people started, as far as it is wanted: they may be about many thousands of other VMs. */
async function readWide(
  client: Client,
  { cluster, namespace }: PoolRef,
  isWanted: (action: WideAction) => boolean,
): Promise<WideAction[]> {
  const runs = await listRuns(
    client,
    `DroverCluster = '${cluster}' AND (WorkflowType = 'powerVms' OR WorkflowType = 'machineTypeTransition')` +
      ` AND (DroverNamespaces = '${namespace}' OR DroverNamespaces IS NULL)`,
  );
  const oldestFirst = runs.sort((one, other) => one.startedAt - other.startedAt);
  const groups = [...Map.groupBy(oldestFirst, ({ workflowId }) => workflowId)];
  const actions = await eachAtOnce(groups, async ([workflowId, ofOne]) => {
    const histories: History[] = [];
    for (const run of ofOne) {
      const history = await historyOf(client, run);
      if (history !== null) histories.push(history);
    }
    return wideActionsOf(workflowId, histories).filter(isWanted);
  });
  return actions.flat();
}

interface Run {
  workflowId: string;
  runId: string;
  /** Milliseconds since the epoch. */
  startedAt: number;
}

/** Lists the runs that Temporal still has, in any order. */
async function listRuns(client: Client, query: string): Promise<Run[]> {
  const listed: Run[] = [];
  try {
    for await (const { workflowId, runId, startTime } of client.workflow.list({ query }))
      listed.push({ workflowId, runId, startedAt: startTime.getTime() });
    return listed;
  } catch (error) {
    if (grpcCodeOf(error) !== GrpcCode.INVALID_ARGUMENT) throw error;
    throw new Failure(
      `Temporal cannot look for drover's workflows (${sentenceOf(error)}): run \`drover setup\` first`,
      { cause: error },
    );
  }
}

/** Calls `read` for each item, a few at once. The results are in any order. */
async function eachAtOnce<T, R>(items: readonly T[], read: (item: T) => Promise<R>): Promise<R[]> {
  const left = [...items];
  const results: R[] = [];
  const next = async (): Promise<void> => {
    for (let item = left.pop(); item !== undefined; item = left.pop()) results.push(await read(item));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, next));
  return results;
}

/** Null if Temporal has deleted the run since it was listed. */
async function historyOf(client: Client, { workflowId, runId }: Run): Promise<History | null> {
  try {
    const history = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    await decodePayloads(history, client.options.loadedDataConverter.payloadCodecs);
    return history;
  } catch (error) {
    if (grpcCodeOf(error) === GrpcCode.NOT_FOUND) return null;
    throw error;
  }
}
