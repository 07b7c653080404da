import { Context } from '@temporalio/activity';
import { WorkflowNotFoundError, type Client, type WorkflowHandle } from '@temporalio/client';
import type { RunControl } from '../../activities/operations/run-control.ts';
import type { PowerProgress } from '../../decisions/power/progress.ts';
import { abort, operationIdOf, operationRunIdOf, pause, powerProgress, resume } from '../../workflows/lib/messages.ts';

const SIGNALS = { pause, resume, abort };

/** The client of the activity that asks. */
const clientNow = (): Client => Context.current().client;

/** Steers the runs of operations of this cluster. */
export const runControl = (cluster: string): RunControl => ({
  workflowId: (ref) => operationIdOf({ cluster, ...ref }),
  runId: (ref) => operationRunIdOf({ cluster, ...ref }),

  async state(ref) {
    const workflowId = operationRunIdOf({ cluster, ...ref });
    const handle = clientNow().workflow.getHandle(workflowId);
    const status = await statusOf(handle);
    if (status === null) return { is: 'missing' };
    if (status === 'RUNNING') return { is: 'running', progress: await progressOf(handle) };
    if (status === 'COMPLETED') return { is: 'completed', progress: (await handle.result()) as PowerProgress };
    const why =
      status === 'FAILED'
        ? await refusal(handle)
        : `its workflow ${workflowId} was ended in Temporal (${status.toLowerCase()}): nothing of it goes on`;
    return { is: 'ended', progress: await progressOf(handle), why };
  },

  async over(ref, signal) {
    const handle = clientNow().workflow.getHandle(operationRunIdOf({ cluster, ...ref }));
    const ended = clientNow().withAbortSignal(signal, () => handle.result());
    await ended.catch(() => undefined);
  },

  async tell(ref, { signal, ...request }) {
    try {
      await clientNow()
        .workflow.getHandle(operationRunIdOf({ cluster, ...ref }))
        .signal(SIGNALS[signal], request);
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    }
  },
});

async function statusOf(handle: WorkflowHandle): Promise<string | null> {
  try {
    return (await handle.describe()).status.name;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null;
    throw error;
  }
}

/** A worker may just have died: whoever asks, asks again. */
const progressOf = (handle: WorkflowHandle): Promise<PowerProgress | null> =>
  handle.query(powerProgress).catch(() => null);

const refusal = (handle: WorkflowHandle): Promise<string> =>
  handle.result().then(
    () => '',
    ({ message, cause }: Error) => (cause instanceof Error ? cause.message : message),
  );
