import type { StoredMeta } from '../../api/objects.ts';
import type { OperationSpec, OperationStatus } from '../../api/operations/operation.ts';

/** A VirtualMachineOperation as the API server has it. */
export interface StoredOperation {
  metadata: StoredMeta & { namespace: string };
  spec: OperationSpec;
  status?: OperationStatus;
}
