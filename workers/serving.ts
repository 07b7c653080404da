import { setTimeout as sleep } from 'node:timers/promises';
import type { Worker } from '@temporalio/worker';
import type { ClusterCache } from '../activities/cache/cluster-cache.ts';

const LOOK_MS = 250;
const CREATE_AGAIN_MS = 1_000;

export interface ServingOptions {
  /** Creates the workers of this process, one for each of its task queues. */
  create: () => Promise<Worker>[];
  cache: Pick<ClusterCache, 'lost'>;
  /** Aborted when the process is asked to stop. */
  stop: AbortSignal;
  onServing: () => void;
  /** Called with the reason why workers could not be created; creating them is retried. */
  onProblem: (error: Error) => void;
}

/**
 * Serves task queues while the API server answers: without it, a worker could only fail its tasks, and would keep its
 * cached workflows from other workers. Serves again once the API server is back.
 */
export class Serving {
  readonly #options: ServingOptions;
  #workers: Worker[] = [];
  #isOver = false;

  constructor(options: ServingOptions) {
    this.#options = options;
  }

  get isServing(): boolean {
    return (
      this.#workers.length > 0 &&
      this.#workers.every((worker) => worker.getState() === 'RUNNING') &&
      !this.#options.cache.lost.aborted
    );
  }

  /** Takes no more work, and lets running work finish. */
  drain(): void {
    for (const worker of this.#workers) if (worker.getState() === 'RUNNING') worker.shutdown();
  }

  /** Takes no more work, also once the API server is back. */
  end(): void {
    this.#isOver = true;
    this.drain();
  }

  /** Resolves when the process is asked to stop, or `end` is called, and all running work has finished. */
  async run(): Promise<void> {
    const { cache, stop, onServing } = this.#options;
    while (!stop.aborted && !this.#isOver) {
      const { lost } = cache;
      const workers = await this.#create();
      if (workers === null) continue;
      this.#workers = workers;
      const runs = this.#workers.map((worker) => worker.run());
      const end = (): void => this.drain();
      lost.addEventListener('abort', end, { once: true });
      if (lost.aborted || stop.aborted || this.#isOver) end();
      else onServing();
      try {
        await Promise.all(runs);
      } finally {
        // If one worker fails, the others stop too.
        lost.removeEventListener('abort', end);
        end();
        await Promise.allSettled(runs);
      }
      if (!lost.aborted) return;
      while (cache.lost.aborted && !stop.aborted) await sleep(LOOK_MS);
    }
  }

  /**
   * Creates all workers; resolves to null, after a pause, if Temporal refuses any of them. Workers that were created
   * hold the connection until they have run, so they are run and ended.
   */
  async #create(): Promise<Worker[] | null> {
    const { create, stop, onProblem } = this.#options;
    const results = await Promise.allSettled(create());
    const workers = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed === undefined) return workers;
    onProblem(failed.reason as Error);
    await Promise.allSettled(workers.map((worker) => worker.runUntil(Promise.resolve())));
    await sleep(CREATE_AGAIN_MS, undefined, { signal: stop }).catch(() => {});
    return null;
  }
}
