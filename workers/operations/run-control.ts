import { setTimeout as sleep } from 'node:timers/promises';
import { cancellationSignal, Context } from '@temporalio/activity';
import {
  WorkflowNotFoundError,
  type Client,
  type WorkflowExecutionDescription,
  type WorkflowHandle,
} from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import type { RunControl } from '../../activities/operations/run-control.ts';
import type { OperationProgress } from '../../decisions/operations/action-report.ts';
import type { OperationRef } from '../../decisions/operations/ref.ts';
import { RESTORED } from '../../decisions/operations/restored.ts';
import {
  abort,
  operationIdOf,
  operationProgress,
  operationRunIdOf,
  pause,
  resume,
} from '../../workflows/lib/messages.ts';
import { readFailure } from '../connection/read-failure.ts';

const DELETED_WITHIN_MS = 3_000;

const SIGNALS = { pause, resume, abort };

/** The client of the activity that asks. */
const clientNow = (): Client => Context.current().client;

const handleOf = (cluster: string, ref: OperationRef): WorkflowHandle =>
  clientNow().workflow.getHandle(operationRunIdOf({ cluster, ...ref }));

/** Steers the runs of operations of this cluster. */
export const runControl = (cluster: string): RunControl => ({
  workflowId: (ref) => operationIdOf({ cluster, ...ref }),
  runId: (ref) => operationRunIdOf({ cluster, ...ref }),

  async state(ref) {
    const handle = handleOf(cluster, ref);
    const described = await describeUnlessDeleted(handle);
    if (described === null) return { is: 'missing' };
    const status = described.status.name;
    if (status === 'RUNNING')
      return { is: 'running', progress: await progressOf(handle), troubles: await troublesOf(described) };
    if (status === 'COMPLETED') return { is: 'completed', progress: (await handle.result()) as OperationProgress };
    const failure = status === 'FAILED' ? await failureOf(handle) : null;
    if (failure !== null && isToBeginAnew(failure)) return { is: 'missing' };
    const progress = await progressOf(handle);
    if (failure !== null) return { is: 'ended', progress, reason: 'Refused', message: failure.message };
    const message = `its workflow ${handle.workflowId} was ended in Temporal (${status.toLowerCase()}): nothing of it continues`;
    return { is: 'ended', progress, reason: 'RunEnded', message };
  },

  async over(ref, signal) {
    const handle = handleOf(cluster, ref);
    const ended = clientNow().withAbortSignal(signal, () => handle.result());
    await ended.catch(() => undefined);
  },

  async signal(ref, { signal, ...request }) {
    try {
      await handleOf(cluster, ref).signal(SIGNALS[signal], request);
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    }
  },
});

/** What Temporal says when the code of a worker could not have written the history of a workflow. */
const NOT_REPLAYED = 'TMPRL1100';

/** Whether what has ended a run says nothing about the operation: another run takes its place. */
const isToBeginAnew = (failure: Error): boolean =>
  failure.message.includes(NOT_REPLAYED) || (failure instanceof ApplicationFailure && failure.type === RESTORED);

/** Temporal terminates a running workflow that is deleted, and then deletes it: that one is lost, not ended. */
async function describeUnlessDeleted(handle: WorkflowHandle): Promise<WorkflowExecutionDescription | null> {
  const described = await describe(handle);
  if (described?.status.name !== 'TERMINATED') return described;
  await sleep(DELETED_WITHIN_MS, undefined, { signal: cancellationSignal() });
  return describe(handle);
}

async function describe(handle: WorkflowHandle): Promise<WorkflowExecutionDescription | null> {
  try {
    return await handle.describe();
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null;
    throw error;
  }
}

/** A worker may just have died: the caller asks again. */
const progressOf = (handle: WorkflowHandle): Promise<OperationProgress | null> =>
  handle.query(operationProgress).catch(() => null);

/** The final failure of a workflow, as its activity has thrown it. */
const failureOf = (handle: WorkflowHandle): Promise<Error | null> =>
  handle.result().then(
    () => null,
    (error: Error) => {
      let inner = error;
      while (inner.cause instanceof Error) inner = inner.cause;
      return inner;
    },
  );

/** The first failures aren't told: they may be a worker that died, or a server that was briefly unavailable. */
const SILENT_TRIES = 2;

/** Activities in words for users who haven't read the code; other activities keep their names. */
const ACTIVITY_LABELS: Record<string, string> = {
  preflightTransition: 'the check before the first change',
  preflightPatch: 'the check before the first change',
  checkMachineTypes: 'a dry run',
  patchMachineTypes: 'the change of machine types',
  patchPoolTemplates: 'the change of pools',
  clearTransitionLabels: 'the removal of labels',
  changePower: 'the start, stop or restart of VMs',
  followTransition: 'the restart of VMs, or a look at them',
};

/**
 * Returns the activities that keep failing and why, a sentence each. The workflow can't tell them itself: it only knows
 * that it waits, and the rest of its work waits, too.
 */
async function troublesOf({ raw }: WorkflowExecutionDescription): Promise<string[]> {
  const failing = (raw.pendingActivities ?? []).filter(
    ({ attempt, lastFailure }) => lastFailure && (attempt ?? 1) > SILENT_TRIES + 1,
  );
  return Promise.all(
    failing.map(async ({ activityType, attempt, lastFailure }) => {
      const name = activityType?.name ?? '';
      const error = await readFailure(clientNow(), lastFailure);
      const message = (error?.cause as Error | undefined)?.message || error?.message || 'it does not say why';
      return `${ACTIVITY_LABELS[name] ?? name} has failed ${(attempt ?? 1) - 1} times, and is tried again: ${message}`;
    }),
  );
}
