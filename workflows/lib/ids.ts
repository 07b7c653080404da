import type { VmOwnerKind } from '../../api/owner-kinds.ts';
import { operationKey, type OperationRef } from '../../decisions/operations/ref.ts';

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

export const taskQueueOf = (cluster: string): string => `drover/${cluster}`;
/**
 * Task queues of activities that only wait for VMs, and of the activity that watches the cluster: neither they nor the
 * other activities can take each other's slots.
 */
export const waitQueueOf = (taskQueue: string): string => `${taskQueue}/wait`;
export const watchQueueOf = (taskQueue: string): string => `${taskQueue}/watch`;
export const watchIdOf = (cluster: string): string => `watch/${cluster}`;
export const notificationsIdOf = (cluster: string): string => `notifications/${cluster}`;
export const ownerIdOf = (kind: VmOwnerKind, { cluster, namespace, name }: PoolRef): string =>
  `${OWNER_WORKFLOWS[kind].id}/${cluster}/${namespace}/${name}`;
export const poolIdOf = (ref: PoolRef): string => ownerIdOf('VirtualMachinePool', ref);
export const healVmIdOf = (ref: PoolRef, vm: string, attempt: number): string =>
  `${poolIdOf(ref)}/heal/${vm}/${attempt}`;
export const updateBatchIdOf = (ref: PoolRef, revision: string, n: number): string =>
  `${poolIdOf(ref)}/update/${revision}/${n}`;
/** Returns the id of the workflow of the pool that a batch or an attempt belongs to. */
export const poolOfChild = (workflowId: string): string => workflowId.split('/').slice(0, 4).join('/');
/** An operation in a cluster, or a schedule of operations. */
export interface OperationKey extends OperationRef {
  cluster: string;
}

export const operationIdOf = ({ cluster, ...ref }: OperationKey): string => `operation/${cluster}/${operationKey(ref)}`;
/** Of the workflow that acts on the VMs of the operation. */
export const operationRunIdOf = (key: OperationKey): string => `${operationIdOf(key)}/run`;
/** Of the workflow of a schedule of operations. */
export const scheduleIdOf = ({ cluster, ...ref }: OperationKey): string => `schedule/${cluster}/${operationKey(ref)}`;
