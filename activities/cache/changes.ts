import { setTimeout as sleep } from 'node:timers/promises';
import { cancellationSignal } from '@temporalio/activity';
import { serverLost, workerShutdown } from '../lib/shutdown.ts';
import type { ClusterCache } from './cluster-cache.ts';
import type { CacheChange } from './objects/cache-change.ts';

/** A pool, a VM or a VMI that has changed. */
export interface Changed {
  kind: 'pool' | 'vm' | 'vmi';
  namespace: string;
  name: string;
  /** The object before and after the change. */
  change: Extract<CacheChange, { kind: Changed['kind'] }>;
}

/** Returns whether a change is one of a pool, a VM or a VMI that is relevant. */
export const ofMembers =
  (isRelevant: (changed: Changed) => boolean) =>
  (change: CacheChange): boolean => {
    if (change.kind !== 'pool' && change.kind !== 'vm' && change.kind !== 'vmi') return false;
    const { kind } = change;
    const { namespace, name } =
      kind === 'pool' ? (change.after ?? change.before)!.metadata : (change.after ?? change.before)!;
    return isRelevant({ kind, namespace, name, change });
  };

/** Changes in the cluster that an activity waits for. */
export class Changes {
  readonly #cache: ClusterCache;
  readonly #stopping: AbortSignal;
  readonly #unsubscribe: () => void;
  #changed = Promise.withResolvers<void>();

  /** `stopping` is aborted when the worker is asked to shut down: its waits then move to another worker at once. */
  constructor(cache: ClusterCache, stopping: AbortSignal, isRelevant: (change: CacheChange) => boolean) {
    this.#cache = cache;
    this.#stopping = stopping;
    this.#unsubscribe = cache.subscribe((change) => {
      if (isRelevant(change)) this.#changed.resolve();
    });
  }

  /**
   * Resolves `settleMs` after the next change, so that changes close together count as one, or after `timeoutMs`.
   * Rejects when the activity is cancelled, its worker is asked to shut down, or the API server is lost.
   */
  async next(timeoutMs: number, settleMs = 0): Promise<void> {
    const over = new AbortController();
    const { lost } = this.#cache;
    const signal = AbortSignal.any([over.signal, cancellationSignal(), this.#stopping, lost]);
    try {
      const changed = this.#changed.promise.then(() => sleep(settleMs));
      await Promise.race([changed, sleep(timeoutMs, undefined, { signal })]);
      this.#changed = Promise.withResolvers<void>();
    } catch (error) {
      if (this.#stopping.aborted) throw workerShutdown();
      throw lost.aborted ? serverLost() : error;
    } finally {
      over.abort();
    }
  }

  /** Counts as a change. */
  poke(): void {
    this.#changed.resolve();
  }

  stop(): void {
    this.#unsubscribe();
  }
}
