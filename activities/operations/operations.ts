import type { OperationProgress } from '../../decisions/operations/action-report.ts';
import { lifetimeEndsAt } from '../../decisions/operations/lifetime.ts';
import { operationResource, type OperationRef } from '../../decisions/operations/ref.ts';
import type { ObservedRun } from '../../decisions/operations/status.ts';
import { ignoreStale } from '../../kubernetes/errors.ts';
import { requireOwnWorkflow } from './authority.ts';
import { begin, type Beginning, type OperationActivityOptions } from './begin-operation.ts';
import { liveOperation } from './live-operation.ts';
import { writeOperationStatus } from './write-status.ts';

export type { Beginning } from './begin-operation.ts';

export function createOperationActivities(options: OperationActivityOptions) {
  const { client, workflowIdOf } = options;
  return {
    /** Says what is to be done for an operation now, and chooses its VMs if it is to begin. */
    beginOperation: (ref: OperationRef): Promise<Beginning> => begin(options, ref),

    /** Writes how the operation has ended, or how it stands while it is paused, if it still exists. */
    async reportOperation(
      ref: OperationRef,
      { progress, end }: { progress: OperationProgress; end: ObservedRun['end'] },
    ): Promise<void> {
      requireOwnWorkflow(workflowIdOf, ref);
      const operation = await liveOperation(client, ref);
      const observed = { progress, end, workflowId: workflowIdOf(ref) };
      if (operation !== undefined) await writeOperationStatus(client, ref, operation, observed);
    },

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
