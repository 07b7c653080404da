import { WorkflowIdConflictPolicy, WorkflowIdReusePolicy, WorkflowNotFoundError } from '@temporalio/client';
import type { Signals } from '../../activities/watch/watched.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { operationName, operationOfKey } from '../../decisions/operations/ref.ts';
import { changed, operationIdOf, taskQueueOf, type OperationKey } from '../../workflows/lib/messages.ts';
import { DroverCluster, DroverNamespace } from '../../workflows/lib/search-attributes.ts';
import type { operation } from '../../workflows/operations/operation.ts';

const keyOf = ({ cluster, key }: { cluster: string; key: string }): OperationKey => ({
  cluster,
  ...operationOfKey(key),
});

/** How the workflows of operations hear of changes. */
export const operationSignals: Signals = {
  async notify(client, object) {
    const key = keyOf(object);
    const { cluster, namespace, name } = key;
    const where = namespace === undefined ? 'cluster-wide' : `in namespace **${namespace}**`;
    await client.workflow.signalWithStart<typeof operation, [ResourceVersions?]>('operation', {
      workflowId: operationIdOf(key),
      workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE,
      workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
      taskQueue: taskQueueOf(cluster),
      args: [key],
      signal: changed,
      signalArgs: [],
      staticSummary: `Operation ${operationName(key)}`,
      staticDetails: `Carries out operation **${name}**, ${where}, of cluster **${cluster}**`,
      typedSearchAttributes: [
        { key: DroverCluster, value: cluster },
        ...(namespace === undefined ? [] : [{ key: DroverNamespace, value: namespace }]),
      ],
    });
  },

  async signalDeleted(client, object) {
    try {
      await client.workflow.getHandle(operationIdOf(keyOf(object))).signal(changed);
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    }
  },

  async managed(client, cluster) {
    const query = `WorkflowType = 'operation' AND DroverCluster = '${cluster}' AND ExecutionStatus = 'Running'`;
    const prefix = `operation/${cluster}/`;
    const keys = new Set<string>();
    for await (const { workflowId } of client.workflow.list({ query })) keys.add(workflowId.slice(prefix.length));
    return keys;
  },
};
