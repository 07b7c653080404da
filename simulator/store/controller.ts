import type { Cluster } from './cluster.ts';
import { WorkQueue } from './work-queue.ts';

/** Reconciles objects by their keys, as changes in the cluster queue them. */
export abstract class Controller {
  protected readonly cluster: Cluster;
  protected readonly queue: WorkQueue;

  /** `what`: what the log calls an object, before its name. `concurrency`: most keys processed at once. */
  constructor(cluster: Cluster, what: string, concurrency: number) {
    this.cluster = cluster;
    this.queue = new WorkQueue({
      concurrency,
      work: (key) => this.reconcile(key),
      onError: (key, error) => cluster.log.warn(`${what} ${this.nameOf(key)}: ${error.message}`),
    });
  }

  start(): void {
    this.queue.start();
  }

  stop(): Promise<void> {
    return this.queue.stop();
  }

  /** The name of an object in the log. */
  protected nameOf(key: string): string {
    return key;
  }

  /** Resolves to the milliseconds until the next time; undefined if none is due. */
  protected abstract reconcile(key: string): Promise<number | undefined>;
}
