import { POOL_FINALIZER, REPLICA_SET_FINALIZER } from './labels-and-annotations.ts';
import {
  VirtualMachineInstanceReplicaSets,
  VirtualMachineInstances,
  VirtualMachinePools,
  VirtualMachineReplicaSets,
  VirtualMachines,
  type Resource,
} from './resources.ts';

/** drover's kinds of sets. */
export type SetKind = 'VirtualMachineReplicaSet' | 'VirtualMachineInstanceReplicaSet';

/** drover's kinds whose objects keep members, VMs or VMIs, at a number. */
export type VmOwnerKind = 'VirtualMachinePool' | SetKind;

/** What an object of such a kind keeps. */
export interface MemberKind {
  readonly resource: Resource;
  /** What sentences call one of them. */
  readonly noun: 'VM' | 'VMI';
  /** Their cache in a worker, and their resource versions. */
  readonly cache: 'vms' | 'vmis';
}

/** All that code which serves every kind must know of one. */
export interface OwnerKind {
  readonly resource: Resource;
  /** What sentences call one object of the kind. */
  readonly noun: 'pool' | 'replica set' | 'VMI replica set';
  readonly members: MemberKind;
  readonly finalizer: string;
  /** The cache of the objects in a worker, and their resource versions. */
  readonly cache: 'pools' | 'replicaSets' | 'vmiSets';
}

const VMS = { resource: VirtualMachines, noun: 'VM', cache: 'vms' } as const;
const VMIS = { resource: VirtualMachineInstances, noun: 'VMI', cache: 'vmis' } as const;

export const OWNER_KINDS = {
  VirtualMachinePool: {
    resource: VirtualMachinePools,
    noun: 'pool',
    members: VMS,
    finalizer: POOL_FINALIZER,
    cache: 'pools',
  },
  VirtualMachineReplicaSet: {
    resource: VirtualMachineReplicaSets,
    noun: 'replica set',
    members: VMS,
    finalizer: REPLICA_SET_FINALIZER,
    cache: 'replicaSets',
  },
  VirtualMachineInstanceReplicaSet: {
    resource: VirtualMachineInstanceReplicaSets,
    noun: 'VMI replica set',
    members: VMIS,
    finalizer: REPLICA_SET_FINALIZER,
    cache: 'vmiSets',
  },
} as const satisfies Record<VmOwnerKind, OwnerKind>;
