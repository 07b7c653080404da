import type { OperationAction } from '../../api/operations/operation.ts';
import { windowFaults } from '../lib/maintenance-windows.ts';
import type { StoredOperation } from '../views/stored-operation.ts';
import { isRestored } from './lifetime.ts';
import { whyAborted } from './steer.ts';

/** Returns why a run may do nothing at all for the operation, in words after its name; null if it may. */
export function whyRefused({ metadata, spec, status }: StoredOperation, action: OperationAction): string | null {
  if (status?.completionTime !== undefined) return 'has ended';
  if (isRestored({ metadata, spec })) return 'was made from a copy of another';
  return spec.action === action ? null : `asks for ${spec.action}, not for ${action}`;
}

/**
 * Returns why one of its windows never opens, so that it must not begin: the API server can't read a cron, and the spec
 * of an operation stays as it is. Null if all of them open.
 */
export const whyNeverOpen = ({ spec, status }: StoredOperation): string | null =>
  status?.startTime === undefined ? (windowFaults(spec.windows ?? [], 'spec.windows')[0] ?? null) : null;

/** Returns why no VM may be taken for the operation now; null if VMs may be. `operation`: undefined if it is gone. */
export function whyHeld(operation: StoredOperation | undefined, action: OperationAction): string | null {
  const aborted = whyAborted(operation);
  if (operation === undefined || aborted !== null) return aborted;
  const refused = whyRefused(operation, action);
  if (refused !== null) return `the operation ${refused}`;
  return operation.spec.paused === true ? 'spec.paused is true' : null;
}
