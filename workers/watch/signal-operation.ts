import { WorkflowIdConflictPolicy, WorkflowIdReusePolicy, WorkflowNotFoundError } from '@temporalio/client';
import type { Signals } from '../../activities/watch/watched.ts';
import { operationName, operationOfKey } from '../../decisions/operations/ref.ts';
import { changed, operationIdOf, scheduleIdOf, taskQueueOf, type OperationKey } from '../../workflows/lib/messages.ts';
import { DroverCluster, DroverNamespace } from '../../workflows/lib/search-attributes.ts';

const keyOf = ({ cluster, key }: { cluster: string; key: string }): OperationKey => ({
  cluster,
  ...operationOfKey(key),
});

interface Words {
  workflowType: string;
  /** What the ids of these workflows begin with. */
  prefix: string;
  idOf: (key: OperationKey) => string;
  /** What Temporal's Web UI says of the workflow of one object. */
  summary: string;
  details: string;
}

/** How workflows hear of changes if each object has one of its own. */
const signalsFor = ({ workflowType, prefix, idOf, summary, details }: Words): Signals => ({
  async notify(client, object) {
    const key = keyOf(object);
    const { cluster, namespace, name } = key;
    const where = namespace === undefined ? 'cluster-wide' : `in namespace **${namespace}**`;
    await client.workflow.signalWithStart(workflowType, {
      workflowId: idOf(key),
      workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE,
      workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
      taskQueue: taskQueueOf(cluster),
      args: [key],
      signal: changed,
      signalArgs: [],
      staticSummary: `${summary} ${operationName(key)}`,
      staticDetails: `${details} **${name}**, ${where}, of cluster **${cluster}**`,
      typedSearchAttributes: [
        { key: DroverCluster, value: cluster },
        ...(namespace === undefined ? [] : [{ key: DroverNamespace, value: namespace }]),
      ],
    });
  },

  async signalDeleted(client, object) {
    try {
      await client.workflow.getHandle(idOf(keyOf(object))).signal(changed);
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    }
  },

  async managed(client, cluster) {
    const query = `WorkflowType = '${workflowType}' AND DroverCluster = '${cluster}' AND ExecutionStatus = 'Running'`;
    const before = `${prefix}/${cluster}/`;
    const keys = new Set<string>();
    for await (const { workflowId } of client.workflow.list({ query })) keys.add(workflowId.slice(before.length));
    return keys;
  },
});

export const operationSignals = signalsFor({
  workflowType: 'operation',
  prefix: 'operation',
  idOf: operationIdOf,
  summary: 'Operation',
  details: 'Carries out operation',
});

export const scheduleSignals = signalsFor({
  workflowType: 'operationSchedule',
  prefix: 'schedule',
  idOf: scheduleIdOf,
  summary: 'Schedule',
  details: 'Makes the operations of schedule',
});
