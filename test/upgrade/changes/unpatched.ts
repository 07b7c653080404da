import type { WorkflowInterceptorsFactory } from '@temporalio/workflow';
import { waitFirst } from './wait-first.ts';

/** The same change without `patched`: histories of before are not what the code would write. */
export const interceptors: WorkflowInterceptorsFactory = () => ({
  outbound: [
    {
      scheduleActivity: (input, next) => waitFirst(() => next(input)),
      scheduleLocalActivity: (input, next) => waitFirst(() => next(input)),
    },
  ],
});
