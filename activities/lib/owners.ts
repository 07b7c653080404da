import { POOL_FINALIZER, REPLICA_SET_FINALIZER } from '../../api/names.ts';
import { VirtualMachinePools, VirtualMachineReplicaSets, type Resource } from '../../api/resources.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { OwnerKey } from '../pool/types.ts';

type Kind = Partial<OwnerKey>;

/** The kind of an owner of VMs, as the API server knows it. */
export const resourceOf = ({ kind }: Kind): Resource =>
  kind === undefined ? VirtualMachinePools : VirtualMachineReplicaSets;

/** Drover's finalizer on an owner of this kind. */
export const finalizerOf = ({ kind }: Kind): string => (kind === undefined ? POOL_FINALIZER : REPLICA_SET_FINALIZER);

/** A resource version of an owner, as plans wait for it. */
export const versionsOf = ({ kind }: Kind, version: string | undefined): ResourceVersions =>
  kind === undefined ? { pools: version } : { replicaSets: version };
