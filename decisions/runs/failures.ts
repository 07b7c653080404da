import { CAPS } from '../../api/lib/caps.ts';
import type { FailedVm } from './progress.ts';

const MESSAGE_LENGTH = 300;

/** Adds a failure. Keeps the reasons of the last failures only: the oldest failure with a reason loses it. */
export function addFailure<Failure extends FailedVm>(failed: Failure[], failure: Failure): void {
  failed.push({ ...failure, message: failure.message.slice(0, MESSAGE_LENGTH) });
  const older = failed.at(-1 - CAPS.failureReasons);
  if (older !== undefined) older.message = '';
}
