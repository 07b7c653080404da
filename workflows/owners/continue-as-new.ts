import { allHandlersFinished, workflowInfo } from '@temporalio/workflow';
import type { InFlight, OperationKind } from './in-flight.ts';

/**
 * A run that has grown longer than this ends at the next moment in which nothing is in flight: a worker that takes over
 * a thousand owners replays all of their runs.
 */
const LONG_EVENTS = 500;
/**
 * A run that has grown longer than these ends although activities are in flight, as if these had failed. Temporal warns
 * from here on, and terminates what is about five times as long. It suggests to continue as new long before.
 */
const TOO_LONG = { events: 10_000, bytes: 10 * 2 ** 20 };
/** What the next run does not begin again. It is over within a minute. */
const AWAITED: readonly OperationKind[] = ['batch', 'cancelled', 'notifying'];

/**
 * Whether the run should hand what it knows to the next, now. `hasChildren`: workflows run whose ends this run would
 * hear of at once, and the next one later. `isElsewhere`: the next run is to be on another task queue.
 */
export function isToContinueAsNew(inProgress: InFlight, hasChildren: boolean, isElsewhere: boolean): boolean {
  const { historyLength, historySize, continueAsNewSuggested } = workflowInfo();
  if (!allHandlersFinished()) return false;
  if (inProgress.isEmpty) return continueAsNewSuggested || isElsewhere || (historyLength > LONG_EVENTS && !hasChildren);
  const isTooLong = historyLength > TOO_LONG.events || historySize > TOO_LONG.bytes;
  return isTooLong && !AWAITED.some((kind) => inProgress.has(kind));
}
