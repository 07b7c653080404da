import { setTimeout as sleep } from 'node:timers/promises';
import type { Worker } from '@temporalio/worker';
import type { ClusterCache } from '../activities/cache/cluster-cache.ts';

const LOOK_MS = 250;
const CREATE_AGAIN_MS = 1_000;

export interface ServingOptions {
  /** Workers of this process, one for each of its task queues. */
  create: () => Promise<Worker>[];
  cache: Pick<ClusterCache, 'lost'>;
  /** Aborted when the process is asked to end. */
  stop: AbortSignal;
  onServing: () => void;
  /** Told why workers could not be created. They are tried again. */
  onTrouble: (error: Error) => void;
}

/**
 * Serves task queues for as long as the API server answers: without it a worker could only fail what it is given, and
 * would keep the workflows that it has cached from others. It serves again once the API server is back.
 */
export class Serving {
  readonly #options: ServingOptions;
  #workers: Worker[] = [];

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

  /** Takes no more work, and lets what was begun end. */
  drain(): void {
    for (const worker of this.#workers) if (worker.getState() === 'RUNNING') worker.shutdown();
  }

  /** Resolves when the process is asked to end and all that was begun has ended. */
  async run(): Promise<void> {
    const { cache, stop, onServing } = this.#options;
    while (!stop.aborted) {
      const { lost } = cache;
      const workers = await this.#create();
      if (workers === null) continue;
      this.#workers = workers;
      const runs = this.#workers.map((worker) => worker.run());
      const end = (): void => this.drain();
      lost.addEventListener('abort', end, { once: true });
      if (lost.aborted || stop.aborted) end();
      else onServing();
      try {
        await Promise.all(runs);
      } finally {
        // One that can't go on takes the others with it.
        lost.removeEventListener('abort', end);
        end();
        await Promise.allSettled(runs);
      }
      if (!lost.aborted) return;
      while (cache.lost.aborted && !stop.aborted) await sleep(LOOK_MS);
    }
  }

  /**
   * All of them; null if Temporal would not have them, after a while. Those that it had hold the connection until they
   * have run.
   */
  async #create(): Promise<Worker[] | null> {
    const { create, stop, onTrouble } = this.#options;
    const results = await Promise.allSettled(create());
    const workers = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed === undefined) return workers;
    onTrouble(failed.reason as Error);
    await Promise.allSettled(workers.map((worker) => worker.runUntil(Promise.resolve())));
    await sleep(CREATE_AGAIN_MS, undefined, { signal: stop }).catch(() => {});
    return null;
  }
}
