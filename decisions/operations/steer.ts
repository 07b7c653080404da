import type { ControlledRun } from '../runs/user-request.ts';
import type { StoredOperation } from '../views/stored-operation.ts';
import { whyAsked } from './spec-requester.ts';
import { BY_SPEC } from './status.ts';

/** What a run must be told. */
type Steering = { signal: 'pause' | 'resume' | 'abort'; reason: string } | null;

/**
 * Returns what the run of an operation must be told, so that it is as its object says: the object alone counts, and not
 * what has changed in it. What a user has paused by a signal stays paused; what the object pauses, no signal resumes.
 * `operation`: undefined if it was deleted, which aborts.
 */
export function steeringOf(operation: StoredOperation | undefined, run: ControlledRun): Steering {
  if (run.aborted !== null) return null;
  const abort = whyAborted(operation);
  if (abort !== null) return { signal: 'abort', reason: abort };
  const isToPause = operation?.spec.paused === true;
  if (isToPause && run.paused === null) return { signal: 'pause', reason: 'spec.paused is true' };
  if (!isToPause && run.paused?.by === BY_SPEC) return { signal: 'resume', reason: 'spec.paused is no longer true' };
  return null;
}

/** Why an operation is to end whose object is gone. */
export const DELETED = 'the operation was deleted';

/** Returns why the operation is to end; null if it is not. */
export function whyAborted(operation: StoredOperation | undefined): string | null {
  if (operation === undefined || operation.metadata.deletionTimestamp !== undefined) return DELETED;
  if (operation.spec.aborted !== true) return null;
  return whyAsked(operation.metadata, 'spec.aborted is true');
}
