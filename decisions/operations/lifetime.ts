import { UID_ANNOTATION } from '../../api/labels-and-annotations.ts';
import type { StoredOperation } from '../views/stored-operation.ts';

/** When a finished operation is to be deleted, in milliseconds since the epoch; null if never. */
export function lifetimeEndsAt({ spec, status }: StoredOperation): number | null {
  const { ttlSecondsAfterFinished: seconds } = spec;
  const { completionTime } = status ?? {};
  return seconds === undefined || completionTime === undefined ? null : Date.parse(completionTime) + seconds * 1_000;
}

/** Reports whether a workflow has something to do for the operation, or will have. */
export const needsWorkflow = (operation: StoredOperation): boolean =>
  operation.status?.completionTime === undefined || lifetimeEndsAt(operation) !== null;

/**
 * Reports whether the object was made from a copy of an operation that had started: it carries another UID. Backups
 * leave the status out, so that it may be long over.
 */
export function isRestored({ metadata: { annotations, uid } }: StoredOperation): boolean {
  const recordedUid = annotations?.[UID_ANNOTATION];
  return recordedUid !== undefined && recordedUid !== uid;
}
