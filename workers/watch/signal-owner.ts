import {
  WorkflowIdConflictPolicy,
  WorkflowIdReusePolicy,
  WorkflowNotFoundError,
  type Client,
} from '@temporalio/client';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import {
  changed,
  instanceSetIdOf,
  poolIdOf,
  replicaSetIdOf,
  taskQueueOf,
  type PoolRef,
} from '../../workflows/messages.ts';
import type { pool } from '../../workflows/pool/pool.ts';
import type { replicaSet } from '../../workflows/replica-sets/replica-set.ts';
import { DroverCluster, DroverNamespace, DroverPool, DroverReplicaSet } from '../../workflows/search-attributes.ts';

const SINGLETON = {
  workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE,
  workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
} as const;

/** The workflow of one owner. */
interface OwnersWorkflow {
  type: 'pool' | 'replicaSet' | 'instanceReplicaSet';
  idOf: (ref: PoolRef) => string;
  attribute: typeof DroverPool;
  summary: string;
  /** What the workflow does, as Markdown. */
  details: string;
}

/** Signals the owner's workflow to look again, and starts the workflow if it isn't running. */
async function notify(
  client: Client,
  ref: PoolRef,
  seen: ResourceVersions,
  { type, idOf, attribute, summary, details }: OwnersWorkflow,
): Promise<void> {
  await client.workflow.signalWithStart<typeof pool | typeof replicaSet, [ResourceVersions?]>(type, {
    ...SINGLETON,
    workflowId: idOf(ref),
    taskQueue: taskQueueOf(ref.cluster),
    args: [ref],
    signal: changed,
    signalArgs: [seen],
    staticSummary: `${summary} ${ref.namespace}/${ref.name}`,
    staticDetails: details,
    typedSearchAttributes: [
      { key: DroverCluster, value: ref.cluster },
      { key: DroverNamespace, value: ref.namespace },
      { key: attribute, value: ref.name },
    ],
  });
}

const placeOf = ({ cluster, namespace, name }: PoolRef): string =>
  `**${name}** in namespace **${namespace}** of cluster **${cluster}**`;

export const notifyPool = (client: Client, ref: PoolRef, seen: ResourceVersions): Promise<void> =>
  notify(client, ref, seen, {
    type: 'pool',
    idOf: poolIdOf,
    attribute: DroverPool,
    summary: 'Pool',
    details: `Keeps the VMs of pool ${placeOf(ref)} as its spec says.`,
  });

export const notifyReplicaSet = (client: Client, ref: PoolRef, seen: ResourceVersions): Promise<void> =>
  notify(client, ref, seen, {
    type: 'replicaSet',
    idOf: replicaSetIdOf,
    attribute: DroverReplicaSet,
    summary: 'Replica set',
    details: `Keeps the VMs of replica set ${placeOf(ref)} at its number, and never above it.`,
  });

export const notifyInstanceSet = (client: Client, ref: PoolRef, seen: ResourceVersions): Promise<void> =>
  notify(client, ref, seen, {
    type: 'instanceReplicaSet',
    idOf: instanceSetIdOf,
    attribute: DroverReplicaSet,
    summary: 'Instance replica set',
    details: `Keeps the VMIs of replica set ${placeOf(ref)} at its number, and replaces at once what ends.`,
  });

/** Returns what signals the workflow of a deleted pool or set, so that it ends; it starts none. */
export const tellGoneTo =
  (idOf: (ref: PoolRef) => string) =>
  async (client: Client, ref: PoolRef, seen: ResourceVersions): Promise<void> => {
    try {
      await client.workflow.getHandle(idOf(ref)).signal(changed, seen);
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    }
  };
