import type { Condition, PoolSpec } from '../../api/pool/pool.ts';
import type { ReplicaSetSpec, VirtualMachineReplicaSet } from '../../api/replica-set/replica-set.ts';

/** Drover's kinds whose objects own VMs. */
export type VmOwnerKind = 'VirtualMachinePool' | 'VirtualMachineReplicaSet';

/** What the objects of all these kinds have in common. */
export interface StoredVmOwner {
  metadata: VirtualMachineReplicaSet['metadata'] & { namespace: string; uid: string };
  spec: Pick<PoolSpec | ReplicaSetSpec, 'replicas' | 'template'>;
  status?: { conditions?: Condition[]; writes?: number };
}

export interface StoredReplicaSet extends VirtualMachineReplicaSet {
  metadata: StoredVmOwner['metadata'];
}
