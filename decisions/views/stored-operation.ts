import type { KubeObject, StoredMeta } from '../../api/objects.ts';
import type { OperationSpec, OperationStatus } from '../../api/operations/operation.ts';

/** An operation as the API server has it. One without a namespace is cluster-wide. */
export interface StoredOperation extends KubeObject {
  metadata: StoredMeta;
  spec: OperationSpec;
  status?: OperationStatus;
}
