import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { Portion } from '../decisions/shards/portion.ts';
import { portionOfQueue, taskQueueOf } from '../workflows/lib/messages.ts';
import type { Serving } from './serving.ts';

const LOOK_MS = 30_000;
/** Of more queues than this, most are not drover's: anyone may start workflows on any. */
const MOST_FORMER = 130;

interface FormerQueuesOptions {
  /** Returns the portions, of other numbers of shards, on whose task queues something runs. */
  find: () => Promise<Portion[]>;
  /** Serves the task queue of a portion, once it is run. */
  serve: (portion: Portion) => Pick<Serving, 'run' | 'drain' | 'end'>;
  stop: AbortSignal;
  onError: (error: Error) => void;
}

/**
 * Serves the task queues of former numbers of shards for as long as anything runs there: workflows that have not moved
 * yet, and what ends where it began. Its worker knows all namespaces. It looks even if there never were shards: anyone
 * who may signal a workflow can send it to such a queue, from which only a worker brings it back.
 */
export class FormerQueues {
  readonly #options: FormerQueuesOptions;
  readonly #served = new Map<string, { serving: Pick<Serving, 'drain' | 'end'>; ran: Promise<void> }>();

  constructor(options: FormerQueuesOptions) {
    this.#options = options;
  }

  drain(): void {
    for (const { serving } of this.#served.values()) serving.drain();
  }

  /** Resolves when the process is asked to stop, and all running work has finished. */
  async run(): Promise<void> {
    const { stop, onError } = this.#options;
    while (!stop.aborted) {
      await this.look().catch(onError);
      await sleep(LOOK_MS, undefined, { signal: stop }).catch(() => {});
    }
    await Promise.all([...this.#served.values()].map(({ ran }) => ran));
  }

  async look(): Promise<void> {
    const { find, serve, onError } = this.#options;
    const found = new Map((await find()).map((portion) => [keyOf(portion), portion]));
    for (const [key, { serving }] of this.#served) if (!found.has(key)) serving.end();
    for (const [key, portion] of found) {
      if (this.#served.has(key)) continue;
      const serving = serve(portion);
      const ran = serving
        .run()
        .catch(onError)
        .finally(() => this.#served.delete(key));
      this.#served.set(key, { serving, ran });
    }
  }
}

const keyOf = (portion: Portion): string => taskQueueOf('', portion);

/** Returns the portions of the cluster besides these on whose task queues workflows run, as Temporal lists them. */
export async function busyElsewhere(client: Client, cluster: string, known: readonly Portion[]): Promise<Portion[]> {
  const queues = known.map((portion) => taskQueueOf(cluster, portion));
  const busy: Portion[] = [];
  for (let looks = 0; looks < MOST_FORMER; looks++) {
    const others = queues.map((queue) => `TaskQueue != '${queue}'`);
    const query = [`DroverCluster = '${cluster}'`, `ExecutionStatus = 'Running'`, ...others].join(' AND ');
    const next = client.workflow.list({ query, pageSize: 1 })[Symbol.asyncIterator]();
    const { value, done } = await next.next();
    if (done === true) break;
    // What anyone starts on other queues is not drover's.
    const portion = portionOfQueue(cluster, value.taskQueue);
    if (portion !== null) busy.push(portion);
    queues.push(value.taskQueue);
  }
  return busy;
}
