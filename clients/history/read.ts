import type { Client } from '@temporalio/client';
import type { PoolRef } from '../../workflows/messages.ts';
import { Failure, sentenceOf } from '../failure.ts';
import { GrpcCode, grpcCodeOf } from '../temporal.ts';
import { actionsOf, type Action } from './actions.ts';

const AT_ONCE = 8;

/** All that Temporal still knows of what drover has done to a pool's VMs, the oldest first. Throws `Failure` where it can't tell. */
export async function readActions(client: Client, { cluster, namespace, name }: PoolRef): Promise<Action[]> {
  const query = `DroverCluster = '${cluster}' AND DroverNamespace = '${namespace}' AND DroverPool = '${name}'`;
  const runs: { workflowId: string; runId: string }[] = [];
  try {
    for await (const { workflowId, runId } of client.workflow.list({ query })) runs.push({ workflowId, runId });
  } catch (error) {
    if (grpcCodeOf(error) !== GrpcCode.INVALID_ARGUMENT) throw error;
    throw new Failure(`Temporal cannot look for the pool's workflows (${sentenceOf(error)}): run \`drover setup\` first`, { cause: error });
  }
  const actions: Action[] = [];
  const next = async (): Promise<void> => {
    for (let run = runs.pop(); run !== undefined; run = runs.pop()) actions.push(...(await actionsIn(client, run.workflowId, run.runId)));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, next));
  return actions.sort((one, other) => one.time.localeCompare(other.time) || one.workflow.localeCompare(other.workflow));
}

async function actionsIn(client: Client, workflowId: string, runId: string): Promise<Action[]> {
  try {
    return actionsOf(workflowId, await client.workflow.getHandle(workflowId, runId).fetchHistory());
  } catch (error) {
    // Forgotten since it was listed.
    if (grpcCodeOf(error) === GrpcCode.NOT_FOUND) return [];
    throw error;
  }
}
