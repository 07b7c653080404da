import type { KubeObject } from '../../api/objects.ts';
import type { PoolSpec, PoolStatus } from '../../api/pool/pool.ts';
import type { OmittedReplicas, StoredVmOwner, WithReplicas } from './owner.ts';

/** A pool as the API server has it. */
export interface Pool extends KubeObject {
  spec: PoolSpec;
  status?: PoolStatus;
}

/** A pool with the number of VMs that it wants: `poolView` fills that in. */
export interface StoredPool extends Pool, OmittedReplicas {
  metadata: StoredVmOwner['metadata'];
  spec: WithReplicas<PoolSpec>;
}
