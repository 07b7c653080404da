import type { OperationAction } from '../../api/operations/operation.ts';
import { windowFaults } from '../lib/maintenance-windows.ts';
import type { StoredOperation } from '../views/stored-operation.ts';
import { isRestored } from './lifetime.ts';
import { whyAsked } from './spec-requester.ts';

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

/** Why an operation is to end whose object is gone. */
const DELETED = 'the operation was deleted';

/** Returns why the operation is to end; null if it is not. */
export function whyAborted(operation: StoredOperation | undefined): string | null {
  if (operation === undefined || operation.metadata.deletionTimestamp !== undefined) return DELETED;
  if (operation.spec.aborted !== true) return null;
  return whyAsked(operation.metadata, 'spec.aborted is true');
}

/** Returns why no more VM is ever taken for the operation; null if VMs may be. `operation`: undefined if it is gone. */
export function whyOver(operation: StoredOperation | undefined, action: OperationAction): string | null {
  const aborted = whyAborted(operation);
  if (operation === undefined || aborted !== null) return aborted;
  const refused = whyRefused(operation, action);
  return refused === null ? null : `the operation ${refused}`;
}

/** Returns why no VM may be taken for the operation now; null if VMs may be. */
export const whyHeld = (operation: StoredOperation | undefined, action: OperationAction): string | null =>
  whyOver(operation, action) ?? (operation?.spec.paused === true ? PAUSED : null);

/** Why an operation holds still. */
export const PAUSED = 'spec.paused is true';
