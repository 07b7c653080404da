import type { Condition, PoolSpec } from '../../api/pool/pool.ts';
import type {
  ReplicaSetSpec,
  VirtualMachineInstanceReplicaSet,
  VirtualMachineReplicaSet,
} from '../../api/replica-set/replica-set.ts';

/** What the objects of all these kinds have in common. */
export interface StoredVmOwner {
  metadata: VirtualMachineReplicaSet['metadata'] & { namespace: string; uid: string };
  spec: Pick<PoolSpec | ReplicaSetSpec | StoredVmiSet['spec'], 'replicas' | 'template'>;
  status?: { conditions?: Condition[]; writes?: number };
}

export interface StoredReplicaSet extends VirtualMachineReplicaSet {
  metadata: StoredVmOwner['metadata'];
}

export interface StoredVmiSet extends VirtualMachineInstanceReplicaSet {
  metadata: StoredVmOwner['metadata'];
}

export type StoredSet = StoredReplicaSet | StoredVmiSet;
