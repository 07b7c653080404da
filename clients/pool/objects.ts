import type { KubeObject } from '../../api/objects.ts';
import type { PoolSpec, PoolStatus } from '../../api/pool/pool.ts';

/** A pool as the API server has it. */
export interface Pool extends KubeObject {
  spec: PoolSpec;
  status?: PoolStatus;
}
