import { Worker } from '@temporalio/worker';
import { EvictionReason, type RemoveFromCache } from '@temporalio/worker/lib/replay.js';

interface Eviction {
  runId: string;
  evictJob: RemoveFromCache;
}

/** How the SDK's message begins that says what differs. */
const DIFFERENCE = /Nondeterminism error: [^"\\]*/;

/**
 * A worker that terminates runs whose history it can't replay. Temporal's SDK fails them itself, but only at the first
 * attempt of a task: once a worker was lost with the task, the SDK reports nothing, and Temporal repeats it forever.
 */
export class ReplayingWorker extends Worker {
  /** The constructor of `Worker` can't be called from here. */
  protected readonly evictions = this.evictionsEmitter.on('eviction', ({ runId, evictJob }: Eviction) => {
    if (evictJob.reason !== EvictionReason.NONDETERMINISM) return;
    const why = DIFFERENCE.exec(evictJob.message ?? '')?.[0] ?? 'Nondeterminism error';
    // Temporal gives this worker the task again, which is the next try.
    this.#end(runId, why).catch((error: unknown) =>
      this.logger.warn('a run that cannot be replayed could not be terminated', { runId, why, error }),
    );
  });

  async #end(runId: string, why: string): Promise<void> {
    const { workflow } = this.client!;
    for await (const { workflowId } of workflow.list({ query: `RunId = '${runId}'` })) {
      const run = workflow.getHandle(workflowId, runId);
      const { attempt } = (await run.describe()).raw.pendingWorkflowTask ?? {};
      if ((attempt ?? 1) === 1) continue;
      await run.terminate(why);
      this.logger.warn('a run was terminated, since its history cannot be replayed', { workflowId, runId, why });
    }
  }
}
