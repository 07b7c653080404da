import { ApplicationFailure } from '@temporalio/workflow';
import { operationName, type OperationRef } from '../../decisions/operations/ref.ts';

/** The failure of a workflow that was started for an object that is not there. `what`: what drover does with one. */
export const unknownObject = (kind: string, ref: OperationRef, what: string): ApplicationFailure =>
  ApplicationFailure.nonRetryable(
    `there is no ${kind} ${operationName(ref)} with the UID ${ref.uid}: make one, and drover ${what}`,
    'Refused',
  );
