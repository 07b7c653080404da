import {
  WorkflowIdConflictPolicy,
  WorkflowIdReusePolicy,
  WorkflowNotFoundError,
  type Client,
} from '@temporalio/client';
import type { SignalDefinition } from '@temporalio/common';
import type { Signals } from '../../activities/watch/watched.ts';
import { changed, notificationsIdOf, taskQueueOf } from '../../workflows/lib/messages.ts';
import { DroverCluster } from '../../workflows/lib/search-attributes.ts';
import type { notifications } from '../../workflows/notifications/notifications.ts';

const TYPE = 'notifications';

/** Signals the workflow that tells receivers, and starts it if it isn't running. */
export async function signalNotifications<Payload>(
  client: Client,
  cluster: string,
  signal: SignalDefinition<[Payload]> | SignalDefinition<[Payload?]>,
  payload: Payload,
): Promise<void> {
  await client.workflow.signalWithStart<typeof notifications, [Payload]>(TYPE, {
    workflowId: notificationsIdOf(cluster),
    workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE,
    workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
    taskQueue: taskQueueOf(cluster),
    args: [{ cluster }],
    signal: signal as SignalDefinition<[Payload]>,
    signalArgs: [payload],
    staticSummary: 'Notifications',
    staticDetails: `Tells receivers what users of cluster **${cluster}** are to know of.`,
    typedSearchAttributes: [{ key: DroverCluster, value: cluster }],
  });
}

/** How the workflow that tells receivers hears of changes: one for all objects, whatever the key. */
export const noticeSignals: Signals = {
  notify: (client, { cluster }, seen) => signalNotifications(client, cluster, changed, seen),
  async signalDeleted(client, { cluster }, seen) {
    try {
      await client.workflow.getHandle(notificationsIdOf(cluster)).signal(changed, seen);
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    }
  },
  async managed(client, cluster) {
    const query = `WorkflowType = '${TYPE}' AND DroverCluster = '${cluster}' AND ExecutionStatus = 'Running'`;
    for await (const _ of client.workflow.list({ query })) return new Set(['notices']);
    return new Set();
  },
};
