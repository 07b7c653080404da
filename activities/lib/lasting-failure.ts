import { activityInfo } from '@temporalio/activity';
import { isRefusal, isTransient } from '../../kubernetes/errors.ts';

/** How often an activity is tried again before what keeps it from its end is told: some seconds. */
const MAX_TRIES = 4;

/**
 * Reports whether the API server has failed for so long that the workflow should know: a webhook that can't be called
 * may stay so for hours.
 */
export const isLastingFailure = (error: unknown): error is Error =>
  isTransient(error) && !isRefusal(error) && activityInfo().attempt > MAX_TRIES;
