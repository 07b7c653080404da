import type { OperationAction } from '../../api/operations/operation.ts';
import type { StoredOperation } from '../views/stored-operation.ts';
import { isRestored } from './lifetime.ts';
import { whyAborted } from './steer.ts';

/** Returns why a run may do nothing at all for the operation, in words after its name; null if it may. */
export function whyRefused({ metadata, spec, status }: StoredOperation, action: OperationAction): string | null {
  if (status?.completionTime !== undefined) return 'has ended';
  if (isRestored({ metadata, spec })) return 'was made from a copy of another';
  return spec.action === action ? null : `asks for ${spec.action}, not for ${action}`;
}

/** Returns why no VM may be taken for the operation now; null if VMs may be. `operation`: undefined if it is gone. */
export function whyHeld(operation: StoredOperation | undefined, action: OperationAction): string | null {
  const aborted = whyAborted(operation);
  if (operation === undefined || aborted !== null) return aborted;
  const refused = whyRefused(operation, action);
  if (refused !== null) return `the operation ${refused}`;
  return operation.spec.paused === true ? 'spec.paused is true' : null;
}
