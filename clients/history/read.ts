import type { Client } from '@temporalio/client';
import { numberOf } from '../../decisions/scaling/vm-names.ts';
import type { PoolRef } from '../../workflows/messages.ts';
import { Failure, sentenceOf } from '../cli/failure.ts';
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
 * Returns all that Temporal still knows of what drover did to a pool's VMs, the oldest first. Throws `Failure` if
 * Temporal lacks drover's search attributes.
 */
export async function readActions(client: Client, ref: PoolRef, revisionsOf: RevisionsOf): Promise<Action[]> {
  const { cluster, namespace, name } = ref;
  const runs = await readRuns(
    client,
    `DroverCluster = '${cluster}' AND DroverNamespace = '${namespace}' AND DroverPool = '${name}'`,
  );
  const own = inOrder([...runs.flatMap(({ workflowId, history }) => actionsOf(workflowId, history)), ...healsOf(runs)]);
  const key = `${namespace}/${name}`;
  const isOfPool = (vm: string): boolean =>
    vm.startsWith(`${namespace}/`) && numberOf(name, vm.slice(namespace.length + 1)) !== null;
  const wide = (await readWide(client, cluster)).filter(({ vms, pools }) => pools.includes(key) || vms.some(isOfPool));
  const told = own.length === 0 ? [] : withOrigins(own, await revisionsOf(name));
  return inOrder([...told, ...wide.map(inNamespace)]);
}

/**
 * As `readActions`, for one VM of any owner: its restarts and machine type transitions and, if the VM is named like a
 * pool's, what that pool did to it.
 */
export async function readActionsOfVm(client: Client, ref: PoolRef, revisionsOf: RevisionsOf): Promise<Action[]> {
  const { cluster, namespace, name } = ref;
  const pool = name.slice(0, Math.max(name.lastIndexOf('-'), 0));
  if (numberOf(pool, name) !== null) {
    return aboutVm(await readActions(client, { ...ref, name: pool }, revisionsOf), name);
  }
  const wide = await readWide(client, cluster);
  return inOrder(wide.filter(({ vms }) => vms.includes(`${namespace}/${name}`)).map(inNamespace));
}

const inOrder = (actions: Action[]): Action[] =>
  actions.sort((one, other) => one.time.localeCompare(other.time) || one.workflow.localeCompare(other.workflow));

const inNamespace = ({ pools: _pools, vms, ...action }: WideAction): Action => ({
  ...action,
  vms: vms.map((vm) => vm.slice(vm.indexOf('/') + 1)),
});

async function readWide(client: Client, cluster: string): Promise<WideAction[]> {
  const runs = await readRuns(
    client,
    `DroverCluster = '${cluster}' AND (WorkflowType = 'restartVms' OR WorkflowType = 'machineTypeTransition')`,
  );
  const groups = Map.groupBy(runs, ({ workflowId }) => workflowId);
  return [...groups].flatMap(([workflowId, ofOne]) => {
    const oldestFirst = ofOne.sort((one, other) => one.startedAt - other.startedAt);
    return wideActionsOf(
      workflowId,
      oldestFirst.map(({ history }) => history),
    );
  });
}

interface Run {
  workflowId: string;
  startedAt: number;
  history: History;
}

/** Reads the histories of all runs that Temporal lists for the query, in any order. */
async function readRuns(client: Client, query: string): Promise<Run[]> {
  const listed: { workflowId: string; runId: string; startedAt: number }[] = [];
  try {
    for await (const { workflowId, runId, startTime } of client.workflow.list({ query }))
      listed.push({ workflowId, runId, startedAt: startTime.getTime() });
  } catch (error) {
    if (grpcCodeOf(error) !== GrpcCode.INVALID_ARGUMENT) throw error;
    throw new Failure(
      `Temporal cannot look for drover's workflows (${sentenceOf(error)}): run \`drover setup\` first`,
      { cause: error },
    );
  }
  const runs: Run[] = [];
  const next = async (): Promise<void> => {
    for (let run = listed.pop(); run !== undefined; run = listed.pop()) {
      const { workflowId, runId, startedAt } = run;
      const history = await historyOf(client, workflowId, runId);
      if (history !== null) runs.push({ workflowId, startedAt, history });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, next));
  return runs;
}

/** Null if Temporal has deleted the run since it was listed. */
async function historyOf(client: Client, workflowId: string, runId: string): Promise<History | null> {
  try {
    const history = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    await decodePayloads(history, client.options.loadedDataConverter.payloadCodecs);
    return history;
  } catch (error) {
    if (grpcCodeOf(error) === GrpcCode.NOT_FOUND) return null;
    throw error;
  }
}
