import type { KubeObject, StoredMeta } from '../../api/objects.ts';
import type { OperationSpec, OperationStatus } from '../../api/operations/operation.ts';

/** A VirtualMachineOperation as the API server has it. */
export interface StoredOperation extends KubeObject {
  metadata: StoredMeta & { namespace: string };
  spec: OperationSpec;
  status?: OperationStatus;
}
