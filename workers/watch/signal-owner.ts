import {
  WorkflowIdConflictPolicy,
  WorkflowIdReusePolicy,
  WorkflowNotFoundError,
  type Client,
} from '@temporalio/client';
import type { SignalDefinition } from '@temporalio/common';
import type { Signals } from '../../activities/watch/watched.ts';
import type { VmOwnerKind } from '../../api/owner-kinds.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { OWNER_WORKFLOWS } from '../../workflows/lib/ids.ts';
import { changed, ownerIdOf, taskQueueOf, type PoolRef } from '../../workflows/lib/messages.ts';
import { DroverCluster, DroverNamespace, DroverPool, DroverReplicaSet } from '../../workflows/lib/search-attributes.ts';
import type { pool } from '../../workflows/pool/pool.ts';
import type { replicaSet } from '../../workflows/replica-sets/replica-set.ts';

const SINGLETON = {
  workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE,
  workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
} as const;

const NAME_ATTRIBUTES = { DroverPool, DroverReplicaSet };

interface Words {
  summary: string;
  /** What the workflow does, as Markdown; `place` says for which owner. */
  details: (place: string) => string;
}

/** What Temporal's Web UI says of the workflow of one owner. */
const WORDS: Record<VmOwnerKind, Words> = {
  VirtualMachinePool: { summary: 'Pool', details: (place) => `Keeps the VMs of pool ${place} as its spec says.` },
  VirtualMachineReplicaSet: {
    summary: 'Replica set',
    details: (place) => `Keeps the VMs of replica set ${place} at its number, and never above that.`,
  },
  VirtualMachineInstanceReplicaSet: {
    summary: 'VMI replica set',
    details: (place) => `Keeps the VMIs of replica set ${place} at its number, and replaces each that ends at once.`,
  },
};

/** Returns how the workflows of this kind of owner hear of changes. */
export const signalsOf = (kind: VmOwnerKind): Signals => ({
  notify: (client, owner, seen) => signalOwner(client, kind, refOf(owner), { signal: changed, payload: seen }),
  signalDeleted: (client, owner, seen) => signalDeleted(client, kind, refOf(owner), seen),
  managed: (client, cluster) => managed(client, kind, cluster),
});

function refOf({ cluster, key }: { cluster: string; key: string }): PoolRef {
  const [namespace = '', name = ''] = key.split('/');
  return { cluster, namespace, name };
}

/** Signals the owner's workflow, and starts the workflow if it isn't running. */
async function signalOwner<Payload>(
  client: Client,
  kind: VmOwnerKind,
  ref: PoolRef,
  { signal, payload }: { signal: SignalDefinition<[Payload?]>; payload: Payload },
): Promise<void> {
  const { cluster, namespace, name } = ref;
  const { type, searchAttribute } = OWNER_WORKFLOWS[kind];
  const { summary, details } = WORDS[kind];
  await client.workflow.signalWithStart<typeof pool | typeof replicaSet, [Payload?]>(type, {
    ...SINGLETON,
    workflowId: ownerIdOf(kind, ref),
    taskQueue: taskQueueOf(cluster),
    args: [ref],
    signal,
    signalArgs: [payload],
    staticSummary: `${summary} ${namespace}/${name}`,
    staticDetails: details(`**${name}** in namespace **${namespace}** of cluster **${cluster}**`),
    typedSearchAttributes: [
      { key: DroverCluster, value: cluster },
      { key: DroverNamespace, value: namespace },
      { key: NAME_ATTRIBUTES[searchAttribute], value: name },
    ],
  });
}

/** Lists the owners of this kind whose workflows run, by `namespace/name`. */
async function managed(client: Client, kind: VmOwnerKind, cluster: string): Promise<ReadonlySet<string>> {
  const query = `WorkflowType = '${OWNER_WORKFLOWS[kind].type}' AND DroverCluster = '${cluster}' AND ExecutionStatus = 'Running'`;
  const prefix = ownerIdOf(kind, { cluster, namespace: '', name: '' }).slice(0, -1);
  const names = new Set<string>();
  for await (const { workflowId } of client.workflow.list({ query })) names.add(workflowId.slice(prefix.length));
  return names;
}

/** Signals the workflow of a deleted owner, so that it ends; it starts none. */
async function signalDeleted(client: Client, kind: VmOwnerKind, ref: PoolRef, seen: ResourceVersions): Promise<void> {
  try {
    await client.workflow.getHandle(ownerIdOf(kind, ref)).signal(changed, seen);
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}
