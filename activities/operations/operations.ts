import { lifetimeEndsAt } from '../../decisions/operations/lifetime.ts';
import { operationResource, type OperationRef } from '../../decisions/operations/ref.ts';
import { ignoreStale } from '../../kubernetes/errors.ts';
import { begin, type Beginning, type OperationActivityOptions } from './begin-operation.ts';
import { follow } from './follow.ts';
import { liveOperation } from './live-operation.ts';

export type { Beginning } from './begin-operation.ts';

export function createOperationActivities(options: OperationActivityOptions) {
  const { client } = options;
  return {
    /** Says what is to be done for an operation now, and chooses its VMs if it is to begin. */
    beginOperation: (ref: OperationRef): Promise<Beginning> => begin(options, ref),

    /** Steers the run of an operation by its object, and writes its status, until the run is over. */
    followOperation: (ref: OperationRef): Promise<void> => follow(options, ref),

    /** Deletes the operation if its time after its end is over. */
    async deleteOperation(ref: OperationRef): Promise<void> {
      const operation = await liveOperation(client, ref);
      const due = operation === undefined ? null : lifetimeEndsAt(operation);
      if (due === null || due > Date.now()) return;
      const { uid, resourceVersion } = operation!.metadata;
      await ignoreStale(client.delete(operationResource(ref), ref, { uid, resourceVersion }));
    },
  };
}

export type OperationActivities = ReturnType<typeof createOperationActivities>;
