import type { KubeObject } from '../../api/objects.ts';
import type { ReplicaSetSpec, ReplicaSetStatus } from '../../api/replica-set/replica-set.ts';

/** A replica set as the API server has it. */
export interface ReplicaSet extends KubeObject {
  spec: ReplicaSetSpec;
  status?: ReplicaSetStatus;
}
