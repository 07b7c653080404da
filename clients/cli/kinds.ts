import { eitherOf } from '../../api/listed.ts';
import { POOL_FINALIZER, REPLICA_SET_FINALIZER } from '../../api/names.ts';
import {
  PersistentVolumeClaims,
  VirtualMachineInstanceReplicaSets,
  VirtualMachineInstances,
  VirtualMachinePools,
  VirtualMachineReplicaSets,
  VirtualMachines,
  type Resource,
} from '../../api/resources.ts';
import { isReplicaName } from '../../decisions/replica-sets/names.ts';
import { numberOf } from '../../decisions/scaling/vm-names.ts';
import type * as messages from '../../workflows/messages.ts';

/** A kind that commands take, with the words that people may use for it: the first is the shortest. */
export interface Kind {
  resource: Resource;
  words: readonly string[];
  /** What sentences call one object of the kind. */
  noun: string;
}

type Messages = typeof messages;

/** A kind of object that a workflow of its own keeps at a number of members. */
export interface OwnerKind extends Kind {
  /** What the members are, and what sentences call one of them. */
  members: { resource: Resource; noun: string };
  /** Drover's finalizer on each object. */
  finalizer: string;
  /** The type of its workflow, and the search attribute of that with the name of the object. */
  workflowType: string;
  searchAttribute: string;
  /** Returns the id of its workflow. A parameter has the module: only some commands load it. */
  workflowId: (messages: Messages) => Messages['poolIdOf'];
  /** Whether an object of this name may have given the other name to a member. */
  hasNamed: (owner: string, member: string) => boolean;
}

const wordsOf = ({ kind, plural, group }: Resource, ...short: string[]): string[] => {
  const singular = kind.toLowerCase();
  return [...short, singular, plural, `${singular}.${group}`, `${plural}.${group}`];
};

const VMS = { resource: VirtualMachines, noun: 'VM' };

export const Pools: OwnerKind = {
  resource: VirtualMachinePools,
  words: wordsOf(VirtualMachinePools, 'pool', 'pools', 'dpool', 'dpools'),
  noun: 'pool',
  members: VMS,
  finalizer: POOL_FINALIZER,
  workflowType: 'pool',
  searchAttribute: 'DroverPool',
  workflowId: ({ poolIdOf }) => poolIdOf,
  hasNamed: (pool, vm) => numberOf(pool, vm) !== null,
};

/** Kinds of replica sets. All that commands know of one kind is in its entry. */
export const REPLICA_SETS: readonly OwnerKind[] = [
  {
    resource: VirtualMachineReplicaSets,
    words: wordsOf(VirtualMachineReplicaSets, 'vmrs'),
    noun: 'replica set',
    members: VMS,
    finalizer: REPLICA_SET_FINALIZER,
    workflowType: 'replicaSet',
    searchAttribute: 'DroverReplicaSet',
    workflowId: ({ replicaSetIdOf }) => replicaSetIdOf,
    hasNamed: isReplicaName,
  },
  {
    resource: VirtualMachineInstanceReplicaSets,
    // KubeVirt's own sets of this kind, which kubectl calls vmirs, are not drover's.
    words: wordsOf(VirtualMachineInstanceReplicaSets, 'dvmirs', 'vmirs'),
    noun: 'instance replica set',
    members: { resource: VirtualMachineInstances, noun: 'VMI' },
    finalizer: REPLICA_SET_FINALIZER,
    workflowType: 'instanceReplicaSet',
    searchAttribute: 'DroverReplicaSet',
    workflowId: ({ instanceSetIdOf }) => instanceSetIdOf,
    hasNamed: isReplicaName,
  },
];

export const OWNERS: readonly OwnerKind[] = [Pools, ...REPLICA_SETS];

export const Vms: Kind = { ...VMS, words: wordsOf(VirtualMachines, 'vm', 'vms') };

/** Claims that VMs have left to the next VMs with their numbers. */
export const Disks: Kind = { resource: PersistentVolumeClaims, words: ['disk', 'disks'], noun: 'kept disk' };

export const KINDS: readonly Kind[] = [...OWNERS, Vms, Disks];

/** Returns the kind of pools or replica sets that Kubernetes calls so; undefined for other kinds. */
export const ownerKindOf = (kind: string | undefined): OwnerKind | undefined =>
  OWNERS.find(({ resource }) => resource.kind === kind);

/** Returns for example `pool, vmrs or vm`: a word for each kind. */
export const firstWords = (kinds: readonly Kind[]): string => eitherOf(kinds.map(({ words }) => words[0]!));

/** Returns for example `3 VMs`. */
export const countOf = ({ members: { noun } }: OwnerKind, count: number): string =>
  `${count} ${noun}${count === 1 ? '' : 's'}`;
