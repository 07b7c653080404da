import { POOL_FINALIZER, REPLICA_SET_FINALIZER } from '../../api/names.ts';
import {
  VirtualMachineInstanceReplicaSets,
  VirtualMachineInstances,
  VirtualMachinePools,
  VirtualMachineReplicaSets,
  VirtualMachines,
  type Resource,
} from '../../api/resources.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { OwnerKey } from '../pool/types.ts';

type Kind = Partial<OwnerKey>;

/** What activities must know of each kind of owner; keys without a kind are those of pools. */
interface OwnerKind {
  /** The owner's kind, as the API server knows it. */
  resource: Resource;
  /** The cache of owners of this kind. */
  owners: 'pools' | 'replicaSets' | 'instanceSets';
  /** Drover's finalizer on an owner. */
  finalizer: string;
  /** Its members. */
  member: Resource;
  memberKind: 'vm' | 'vmi';
}

const POOL: OwnerKind = {
  resource: VirtualMachinePools,
  owners: 'pools',
  finalizer: POOL_FINALIZER,
  member: VirtualMachines,
  memberKind: 'vm',
};
const SETS: Record<NonNullable<OwnerKey['kind']>, OwnerKind> = {
  VirtualMachineReplicaSet: {
    resource: VirtualMachineReplicaSets,
    owners: 'replicaSets',
    finalizer: REPLICA_SET_FINALIZER,
    member: VirtualMachines,
    memberKind: 'vm',
  },
  VirtualMachineInstanceReplicaSet: {
    resource: VirtualMachineInstanceReplicaSets,
    owners: 'instanceSets',
    finalizer: REPLICA_SET_FINALIZER,
    member: VirtualMachineInstances,
    memberKind: 'vmi',
  },
};

export const kindOfOwner = ({ kind }: Kind): OwnerKind => (kind === undefined ? POOL : SETS[kind]);

/** A resource version of an owner, as plans wait for it. */
export const versionsOf = (key: Kind, version: string | undefined): ResourceVersions => ({
  [kindOfOwner(key).owners]: version,
});

/** A resource version of one of its members. */
export const memberVersions = (key: Kind, version: string | undefined): ResourceVersions => ({
  [`${kindOfOwner(key).memberKind}s`]: version,
});
