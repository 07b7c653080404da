import type { VmOwnerKind } from '../../api/owner-kinds.ts';
import { scatter } from '../../decisions/lib/scatter.ts';
import { operationKey, type OperationRef } from '../../decisions/operations/ref.ts';
import { portionOf, type Portion } from '../../decisions/shards/portion.ts';

/** A pool or a replica set in a cluster. */
export interface PoolRef {
  cluster: string;
  namespace: string;
  name: string;
}

interface OwnerWorkflow {
  readonly type: string;
  /** What its id begins with. */
  readonly id: string;
  /** The search attribute that holds the name of the owner. */
  readonly searchAttribute: 'DroverPool' | 'DroverReplicaSet';
}

/** The workflow of one pool or replica set, by its kind. */
export const OWNER_WORKFLOWS = {
  VirtualMachinePool: { type: 'pool', id: 'pool', searchAttribute: 'DroverPool' },
  VirtualMachineReplicaSet: { type: 'replicaSet', id: 'replica-set', searchAttribute: 'DroverReplicaSet' },
  VirtualMachineInstanceReplicaSet: {
    type: 'vmiReplicaSet',
    id: 'vmi-replica-set',
    searchAttribute: 'DroverReplicaSet',
  },
} as const satisfies Record<VmOwnerKind, OwnerWorkflow>;

/** What Temporal's databases hold of an id, but for Cassandra: a child with a longer one would never begin. */
const LONGEST_ID = 255;

/** Returns an id that is not too long; the end of a long one becomes a hash. */
const idOf = (...parts: (string | number)[]): string => {
  const id = parts.join('/');
  if (id.length <= LONGEST_ID) return id;
  const end = `~${scatter(id).toString(36)}`;
  return id.slice(0, LONGEST_ID - end.length) + end;
};

/** Of a portion of a cluster; by default of what is in no namespace, which is all without shards. */
export const taskQueueOf = (cluster: string, { shard, shards }: Partial<Portion> = {}): string =>
  `drover/${cluster}${shard === undefined ? '' : `/${shard}-of-${shards}`}`;
/** Returns the portion that a task queue of this cluster is for; null if it is none of its queues. */
export function portionOfQueue(cluster: string, queue: string): Portion | null {
  const [, shard, shards] = /\/(\d{1,2})-of-(\d{1,2})$/.exec(queue) ?? [];
  const portion = shard === undefined ? { shards: 1 } : { shard: Number(shard), shards: Number(shards) };
  return taskQueueOf(cluster, portion) === queue ? portion : null;
}
/** The task queue of the workflow of an object, if the cluster is divided into so many shards. */
export const queueOfObject = (cluster: string, namespace: string | undefined, shards: number): string =>
  taskQueueOf(cluster, portionOf(namespace, shards));
/**
 * Task queues of activities that only wait for VMs, and of the activity that watches the cluster: neither they nor the
 * other activities can take each other's slots.
 */
export const waitQueueOf = (taskQueue: string): string => `${taskQueue}/wait`;
export const watchQueueOf = (taskQueue: string): string => `${taskQueue}/watch`;
export const watchIdOf = (cluster: string): string => idOf('watch', cluster);
export const ownerIdOf = (kind: VmOwnerKind, { cluster, namespace, name }: PoolRef): string =>
  idOf(OWNER_WORKFLOWS[kind].id, cluster, namespace, name);
export const poolIdOf = (ref: PoolRef): string => ownerIdOf('VirtualMachinePool', ref);
export const healVmIdOf = (ref: PoolRef, vm: string, attempt: number): string =>
  idOf(poolIdOf(ref), 'heal', vm, attempt);
export const updateBatchIdOf = (ref: PoolRef, revision: string, n: number): string =>
  idOf(poolIdOf(ref), 'update', revision, n);
/** Returns the id of the workflow of the pool that a batch or an attempt belongs to. */
export const poolOfChild = (workflowId: string): string => workflowId.split('/').slice(0, 4).join('/');
/** An operation in a cluster, or a schedule of operations. */
export interface OperationKey extends OperationRef {
  cluster: string;
}

export const operationIdOf = ({ cluster, ...ref }: OperationKey): string =>
  idOf('operation', cluster, operationKey(ref));
/** Of the workflow of a schedule of operations. */
export const scheduleIdOf = ({ cluster, ...ref }: OperationKey): string => idOf('schedule', cluster, operationKey(ref));
