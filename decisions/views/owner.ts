import type { Condition, PoolSpec } from '../../api/pool/pool.ts';
import type {
  ReplicaSetSpec,
  VirtualMachineInstanceReplicaSet,
  VirtualMachineReplicaSet,
  VmiSetSpec,
} from '../../api/replica-set/replica-set.ts';

/** A spec that says how many members are wanted: `ownerView` fills that in. */
export type WithReplicas<Spec> = Spec & { replicas: number };

/** Whether the number in the spec is the one that was wanted before, for the stored spec has none. */
export interface LeftOut {
  replicasLeftOut?: true;
}

/** What the objects of all these kinds have in common. */
export interface StoredVmOwner extends LeftOut {
  metadata: VirtualMachineReplicaSet['metadata'] & { namespace: string; uid: string };
  spec: Pick<WithReplicas<PoolSpec | ReplicaSetSpec | VmiSetSpec>, 'replicas' | 'template'>;
  status?: { conditions?: Condition[]; writes?: number };
}

export interface StoredReplicaSet extends Omit<VirtualMachineReplicaSet, 'spec'>, LeftOut {
  metadata: StoredVmOwner['metadata'];
  spec: WithReplicas<ReplicaSetSpec>;
}

export interface StoredVmiSet extends Omit<VirtualMachineInstanceReplicaSet, 'spec'>, LeftOut {
  metadata: StoredVmOwner['metadata'];
  spec: WithReplicas<VmiSetSpec>;
}

export type StoredSet = StoredReplicaSet | StoredVmiSet;
