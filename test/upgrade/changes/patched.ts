import { patched, type WorkflowInterceptorsFactory } from '@temporalio/workflow';
import { waitFirst } from './wait-first.ts';

const ID = 'wait-first';

/**
 * The next release waits before each activity: a change of the commands of every workflow, as `patched` allows it. What
 * is not patched returns the very promise: one tick more would be a change, too.
 */
export const interceptors: WorkflowInterceptorsFactory = () => ({
  outbound: [
    {
      scheduleActivity: (input, next) => (patched(ID) ? waitFirst(() => next(input)) : next(input)),
      scheduleLocalActivity: (input, next) => (patched(ID) ? waitFirst(() => next(input)) : next(input)),
    },
  ],
});
