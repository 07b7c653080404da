import { eitherOf } from '../../api/lib/listed.ts';
import { OWNER_KINDS, type OwnerKind as AnyOwnerKind, type VmOwnerKind } from '../../api/owner-kinds.ts';
import {
  ClusterVirtualMachineDisruptionBudgets,
  PersistentVolumeClaims,
  VirtualMachineDisruptionBudgets,
  VirtualMachineInstances,
  VirtualMachines,
  type Resource,
} from '../../api/resources.ts';
import { isReplicaName } from '../../decisions/replica-sets/names.ts';
import { numberOf } from '../../decisions/template/vm-names.ts';
import { ownerIdOf, type PoolRef } from '../../workflows/lib/ids.ts';

/** A kind that commands take, with the words that users may use for it: the first is the shortest. */
export interface Kind {
  resource: Resource;
  aliases: readonly string[];
  /** What sentences call one object of the kind. */
  noun: string;
}

/** A kind of object, each kept at a number of members by its own workflow. */
export interface OwnerKind extends Kind, AnyOwnerKind {
  resource: Resource;
  noun: AnyOwnerKind['noun'];
  workflowId: (ref: PoolRef) => string;
  /** Whether an object of this name may have given the other name to a member. */
  hasNamed: (owner: string, member: string) => boolean;
}

const aliasesOf = ({ kind, plural, group }: Resource, ...short: string[]): string[] => {
  const singular = kind.toLowerCase();
  return [...short, singular, plural, `${singular}.${group}`, `${plural}.${group}`];
};

interface Own extends Pick<OwnerKind, 'hasNamed'> {
  /** Names in addition to kubectl's; the shortest first. */
  short: string[];
}

function ownerKind(kind: VmOwnerKind, { short, hasNamed }: Own): OwnerKind {
  return {
    ...OWNER_KINDS[kind],
    aliases: aliasesOf(OWNER_KINDS[kind].resource, ...short),
    workflowId: (ref) => ownerIdOf(kind, ref),
    hasNamed,
  };
}

export const Pools: OwnerKind = ownerKind('VirtualMachinePool', {
  short: ['pool', 'pools', 'dpool', 'dpools'],
  hasNamed: (pool, vm) => numberOf(pool, vm) !== null,
});

const REPLICA_SETS: readonly OwnerKind[] = [
  ownerKind('VirtualMachineReplicaSet', { short: ['vmrs'], hasNamed: isReplicaName }),
  // KubeVirt's own sets of this kind, which kubectl calls vmirs, are not drover's.
  ownerKind('VirtualMachineInstanceReplicaSet', { short: ['dvmirs', 'vmirs'], hasNamed: isReplicaName }),
];

export const OWNERS: readonly OwnerKind[] = [Pools, ...REPLICA_SETS];

export const Vms: Kind = { resource: VirtualMachines, noun: 'VM', aliases: aliasesOf(VirtualMachines, 'vm', 'vms') };
const Vmis: Kind = {
  resource: VirtualMachineInstances,
  noun: 'VMI',
  aliases: aliasesOf(VirtualMachineInstances, 'vmi', 'vmis'),
};

/** Claims that VMs have left to the next VMs with their numbers. */
export const Disks: Kind = { resource: PersistentVolumeClaims, aliases: ['disk', 'disks'], noun: 'kept disk' };

export const KINDS: readonly Kind[] = [...OWNERS, Vms, Vmis, Disks];

/** Limits of how many VMs drover disrupts at once, of a namespace and cluster-wide. */
export const BUDGETS: readonly Kind[] = [
  {
    resource: VirtualMachineDisruptionBudgets,
    noun: 'disruption budget',
    aliases: aliasesOf(VirtualMachineDisruptionBudgets, 'vmdb', 'vmdbs'),
  },
  {
    resource: ClusterVirtualMachineDisruptionBudgets,
    noun: 'cluster-wide disruption budget',
    aliases: aliasesOf(ClusterVirtualMachineDisruptionBudgets, 'cvmdb', 'cvmdbs'),
  },
];

/** Returns the kind that `drover apply` makes under this name. */
export const appliedKindOf = (kind: string): Kind =>
  [...OWNERS, ...BUDGETS].find(({ resource }) => resource.kind === kind)!;

export const isOwnerKind = (kind: Kind): kind is OwnerKind => 'members' in kind;

/** Returns the kind of pools or replica sets that Kubernetes calls so; undefined for other kinds. */
export const ownerKindOf = (kind: string | undefined): OwnerKind | undefined =>
  OWNERS.find(({ resource }) => resource.kind === kind);

/** Returns for example `pool, vmrs or vm`: a word for each kind. */
export const kindArguments = (kinds: readonly Kind[]): string => eitherOf(kinds.map(({ aliases }) => aliases[0]!));

/** Returns for example `a VMI replica set`. */
export const aNoun = ({ noun }: Kind): string => `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`;

/** Returns for example `3 VMs`. */
export const countOf = ({ members: { noun } }: OwnerKind, count: number): string =>
  `${count} ${noun}${count === 1 ? '' : 's'}`;
