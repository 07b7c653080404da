import type { KubeObject, ObjectMeta } from '../../api/objects.ts';
import type { Condition, PoolSpec } from '../../api/pool/pool.ts';
import type { ReplicaSetSpec, ReplicaSetStatus, VmiSetSpec } from '../../api/replica-set/replica-set.ts';

/** A spec that says how many members are wanted: `ownerView` fills that in. */
export type WithReplicas<Spec> = Spec & { replicas: number };

/** Whether the number in the spec is the former one, because the stored spec has none. */
export interface OmittedReplicas {
  replicasOmitted?: true;
}

/** What the objects of all these kinds have in common. */
export interface StoredVmOwner extends KubeObject, OmittedReplicas {
  metadata: ObjectMeta & { namespace: string; uid: string };
  spec: Pick<WithReplicas<PoolSpec | ReplicaSetSpec | VmiSetSpec>, 'replicas' | 'template'>;
  status?: { conditions?: Condition[]; writes?: number; turn?: string };
}

/** A replica set as the API server has it. */
export interface ReplicaSet extends KubeObject {
  spec: ReplicaSetSpec;
  status?: ReplicaSetStatus;
}

export interface StoredReplicaSet extends ReplicaSet, OmittedReplicas {
  kind: 'VirtualMachineReplicaSet';
  metadata: StoredVmOwner['metadata'];
  spec: WithReplicas<ReplicaSetSpec>;
}

export interface StoredVmiSet extends KubeObject, OmittedReplicas {
  kind: 'VirtualMachineInstanceReplicaSet';
  metadata: StoredVmOwner['metadata'];
  spec: WithReplicas<VmiSetSpec>;
  status?: ReplicaSetStatus;
}

export type StoredSet = StoredReplicaSet | StoredVmiSet;
