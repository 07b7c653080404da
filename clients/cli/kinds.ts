import { POOL_FINALIZER, REPLICA_SET_FINALIZER } from '../../api/names.ts';
import {
  PersistentVolumeClaims,
  VirtualMachinePools,
  VirtualMachineReplicaSets,
  VirtualMachines,
  type Resource,
} from '../../api/resources.ts';
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
  /** Of its workflow, with the name of the object. */
  searchAttribute: string;
  /** Returns the id of its workflow. A parameter has the module: only some commands load it. */
  workflowId: (messages: Messages) => Messages['poolIdOf'];
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
  searchAttribute: 'DroverPool',
  workflowId: ({ poolIdOf }) => poolIdOf,
};

/** Kinds of replica sets. All that commands know of one kind is in its entry. */
export const REPLICA_SETS: readonly OwnerKind[] = [
  {
    resource: VirtualMachineReplicaSets,
    words: wordsOf(VirtualMachineReplicaSets, 'vmrs'),
    noun: 'replica set',
    members: VMS,
    finalizer: REPLICA_SET_FINALIZER,
    searchAttribute: 'DroverReplicaSet',
    workflowId: ({ replicaSetIdOf }) => replicaSetIdOf,
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
export const firstWords = (kinds: readonly Kind[]): string =>
  kinds
    .map(({ words }) => words[0])
    .join(', ')
    .replace(/, ([^,]*)$/, ' or $1');

/** Returns for example `3 VMs`. */
export const countOf = ({ members: { noun } }: OwnerKind, count: number): string =>
  `${count} ${noun}${count === 1 ? '' : 's'}`;
