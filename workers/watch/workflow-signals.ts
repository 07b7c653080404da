import {
  WorkflowIdConflictPolicy,
  WorkflowIdReusePolicy,
  WorkflowNotFoundError,
  type Client,
} from '@temporalio/client';
import type { SearchAttributePair } from '@temporalio/common';
import type { ChildSignals, LostChild } from '../../activities/watch/lost-children.ts';
import type { Signals, Watched } from '../../activities/watch/watched.ts';
import type { VmOwnerKind } from '../../api/owner-kinds.ts';
import { operationName, operationOfKey } from '../../decisions/operations/ref.ts';
import type { Portion } from '../../decisions/shards/portion.ts';
import { OWNER_WORKFLOWS } from '../../workflows/lib/ids.ts';
import {
  changed,
  childLost,
  operationIdOf,
  ownerIdOf,
  poolOfChild,
  scheduleIdOf,
  taskQueueOf,
  type OperationKey,
} from '../../workflows/lib/messages.ts';
import { DroverCluster, DroverNamespace, DroverPool, DroverReplicaSet } from '../../workflows/lib/search-attributes.ts';

type What = Watched['what'];

/** An object whose workflow is signalled, by its key as the watch has it. */
interface Signalled {
  cluster: string;
  key: string;
}

/** What the workflow of one object is started with, and what Temporal's Web UI says about it. */
interface Start {
  args: [object];
  staticSummary: string;
  /** Markdown. */
  staticDetails: string;
  /** Besides the cluster. */
  attributes: SearchAttributePair[];
}

/** The workflows of what is watched. */
interface Kind {
  type: string;
  idOf: (object: Signalled) => string;
  start: (object: Signalled) => Start;
}

const NAME_ATTRIBUTES = { DroverPool, DroverReplicaSet };

function ownerOfKey(key: string): { namespace: string; name: string } {
  const [namespace = '', name = ''] = key.split('/');
  return { namespace, name };
}

const ofOwner = (kind: VmOwnerKind, summary: string, details: (target: string) => string): Kind => ({
  type: OWNER_WORKFLOWS[kind].type,
  idOf: ({ cluster, key }) => ownerIdOf(kind, { cluster, ...ownerOfKey(key) }),
  start: ({ cluster, key }) => {
    const { namespace, name } = ownerOfKey(key);
    return {
      args: [{ cluster, namespace, name }],
      staticSummary: `${summary} ${key}`,
      staticDetails: details(`**${name}** in namespace **${namespace}** of cluster **${cluster}**`),
      attributes: [
        { key: DroverNamespace, value: namespace },
        { key: NAME_ATTRIBUTES[OWNER_WORKFLOWS[kind].searchAttribute], value: name },
      ],
    };
  },
});

const ofOperations = (
  type: string,
  idOfOperation: (operation: OperationKey) => string,
  summary: string,
  details: string,
): Kind => ({
  type,
  idOf: ({ cluster, key }) => idOfOperation({ cluster, ...operationOfKey(key) }),
  start: ({ cluster, key }) => {
    const ref = operationOfKey(key);
    const { namespace, name } = ref;
    const where = namespace === undefined ? 'cluster-wide' : `in namespace **${namespace}**`;
    return {
      args: [{ cluster, ...ref }],
      staticSummary: `${summary} ${operationName(ref)}`,
      staticDetails: `${details} **${name}**, ${where}, of cluster **${cluster}**`,
      attributes: namespace === undefined ? [] : [{ key: DroverNamespace, value: namespace }],
    };
  },
});

const KINDS: Record<What, Kind> = {
  pool: ofOwner('VirtualMachinePool', 'Pool', (target) => `Keeps the VMs of pool ${target} as its spec says.`),
  'replica set': ofOwner(
    'VirtualMachineReplicaSet',
    'Replica set',
    (target) => `Keeps the VMs of replica set ${target} at its number, and never above that.`,
  ),
  'VMI replica set': ofOwner(
    'VirtualMachineInstanceReplicaSet',
    'VMI replica set',
    (target) => `Keeps the VMIs of replica set ${target} at its number, and replaces each that ends at once.`,
  ),
  operation: ofOperations('operation', operationIdOf, 'Operation', 'Carries out operation'),
  schedule: ofOperations('operationSchedule', scheduleIdOf, 'Schedule', 'Makes the operations of schedule'),
};

/** Returns the id of the workflow of an object. */
export const workflowIdOf = (what: What, object: Signalled): string => KINDS[what].idOf(object);

/** Signals the workflow of an object that it has changed, and starts the workflow if it isn't running. */
async function signalWithStart(
  client: Client,
  what: What,
  object: Signalled,
  look: Parameters<Signals['notify']>[2],
  portion: Portion,
): Promise<void> {
  const { type, start } = KINDS[what];
  const { attributes, ...started } = start(object);
  await client.workflow.signalWithStart(type, {
    ...started,
    workflowId: workflowIdOf(what, object),
    workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE,
    workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
    taskQueue: taskQueueOf(object.cluster, portion),
    signal: changed,
    signalArgs: [look],
    typedSearchAttributes: [{ key: DroverCluster, value: object.cluster }, ...attributes],
  });
}

/** Returns how the workflows of what is watched in a portion of a cluster hear of changes. */
export const signalsOf = (what: What, portion: Portion): Signals => ({
  notify: (client, object, look) => signalWithStart(client, what, object, look, portion),
  signalDeleted: (client, object, look) =>
    unlessEnded(client.workflow.getHandle(workflowIdOf(what, object)).signal(changed, look)),
  async unmanaged(client, cluster, keys) {
    const { type } = KINDS[what];
    const query = [
      `WorkflowType = '${type}'`,
      `DroverCluster = '${cluster}'`,
      `TaskQueue = '${taskQueueOf(cluster, portion)}'`,
      `ExecutionStatus = 'Running'`,
    ].join(' AND ');
    const running = new Set<string>();
    for await (const { workflowId } of client.workflow.list({ query })) running.add(workflowId);
    return keys.filter((key) => !running.has(workflowIdOf(what, { cluster, key })));
  },
});

/** How the workflows of pools hear that a batch or an attempt was ended from outside. */
export const childSignals: ChildSignals = {
  async lost(client, cluster, since) {
    const query = [
      `WorkflowType IN ('updateBatch', 'healVm')`,
      `DroverCluster = '${cluster}'`,
      `ExecutionStatus IN ('Terminated', 'Failed', 'TimedOut', 'Canceled')`,
      `CloseTime > '${new Date(since).toISOString()}'`,
    ].join(' AND ');
    const lost: LostChild[] = [];
    for await (const { workflowId, runId, closeTime } of client.workflow.list({ query }))
      lost.push({ workflowId, runId, endedAt: closeTime?.getTime() ?? Date.now() });
    return lost;
  },
  poolNamespace: ({ workflowId }) => workflowId.split('/')[2]!,
  notifyPool: (client, { workflowId, endedAt }) =>
    unlessEnded(client.workflow.getHandle(poolOfChild(workflowId)).signal(childLost, { workflowId, endedAt })),
};

/** A workflow that does not run needs no signal. */
async function unlessEnded(signalled: Promise<void>): Promise<void> {
  try {
    await signalled;
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}
