import { Client } from '@temporalio/client';
import type { Logger } from '@temporalio/worker';
import type { ClusterCache } from '../activities/cache/cluster-cache.ts';
import { ensureCurrentAttempt } from '../activities/lib/current-attempt.ts';
import { workersOf } from '../api/claims/claim.ts';
import { isInPortion, portionsOf, UNDIVIDED, type Portion } from '../decisions/shards/portion.ts';
import { KubeClient } from '../kubernetes/client.ts';
import type { KubeConfigChoice } from '../kubernetes/config.ts';
import { taskQueueOf } from '../workflows/lib/messages.ts';
import { createActivities } from './activities.ts';
import { createClusterCache, formatMissing } from './cluster-cache.ts';
import type { WorkerConfig } from './config.ts';
import { clientOptions, createWorkers, type TemporalOptions } from './create-workers.ts';
import { untilAborted } from './ending/until-aborted.ts';
import { endOn, isAbort, untilOneEnds } from './ending/until-one-ends.ts';
import { busyElsewhere, FormerQueues } from './former-queues.ts';
import { RepeatedProblem } from './health/repeated-problem.ts';
import type { Metrics } from './metrics/metrics.ts';
import { refuseDelegated } from './refuse-delegated.ts';
import { Serving } from './serving.ts';
import { watchRun } from './watch/cluster-watch.ts';
import { isRefusal, keepWatch, waitUntilWatched, type KeepWatchOptions } from './watch/keep-watch.ts';
import { untilTemporalRestored } from './watch/temporal-restored.ts';

/** What a worker has in memory of workflows does not go with what Temporal knows of them now. */
const PUT_BACK = 'Temporal was restored from a backup, or has lost its data';

/** What all that a process serves has in common. */
export interface Surroundings {
  config: WorkerConfig;
  kube: KubeConfigChoice;
  logger: Logger;
  metrics: Metrics;
  /** Aborted when the process is asked to stop. */
  stop: AbortSignal;
}

/**
 * What a process serves under one name: the cluster, or one of its namespaces. Each has task queues, a watch, a cache
 * and its own client, so that what is wrong in one namespace holds up no other.
 */
export class Served {
  /** The only namespace; undefined for the whole cluster. */
  readonly namespace: string | undefined;
  readonly #in: Surroundings;
  readonly #cluster: string;
  readonly #client: KubeClient;
  /** What it takes of the cluster. */
  readonly #portions: readonly Portion[];
  /** Whether objects of all namespaces are kept, although it takes only some. */
  #keepsAll = false;
  #cache: ClusterCache | undefined;
  #serving: Serving | undefined;
  #former: FormerQueues | undefined;
  /** What its watches that run are for: for a moment one of them twice, if a watch was given up. */
  #watched: Portion[] = [];

  constructor(surroundings: Surroundings, namespace?: string) {
    const { config, kube, metrics } = surroundings;
    this.#in = surroundings;
    this.namespace = namespace;
    this.#cluster = namespace === undefined ? config.cluster : workersOf(config.cluster, namespace);
    this.#portions = namespace === undefined ? config.portions : [UNDIVIDED];
    if (namespace === undefined) for (const portion of this.#all) metrics.watchRunning.set(this.#servedIn(portion), 0);
    this.#client = KubeClient.of(kube, {
      connections: config.connections,
      userAgent: 'drover-worker',
      beforeWrite: (path) => {
        if (this.#cache !== undefined) refuseDelegated(this.#cache, path);
        return ensureCurrentAttempt();
      },
      onRequest: metrics.requests.began,
    });
  }

  /** What it knows; undefined while it waits to be left to this worker, or for a server. */
  get cache(): ClusterCache | undefined {
    return this.#cache;
  }

  /** Whether it takes work, on complete caches. */
  get isServing(): boolean {
    const caches = Object.values(this.#cache?.caches ?? {});
    return this.#serving?.isServing === true && caches.every(({ synced, missing }) => synced || missing !== null);
  }

  /** Whether this worker watches this namespace, or what is in none, for all workers, and reports its objects. */
  readonly watches = (namespace: string | undefined): boolean =>
    this.#watched.some((portion) => isInPortion(portion, namespace));

  /** Takes no more work, and lets running work finish. */
  drain(): void {
    this.#serving?.drain();
    this.#former?.drain();
  }

  /** Also portions that no worker takes have a value, so that an alert tells that they lack a watch. */
  get #all(): Portion[] {
    return portionsOf(this.#portions[0]!.shards);
  }

  readonly #servedIn = (portion: Portion): { served: string } => ({
    served: taskQueueOf(this.#cluster, portion).slice(taskQueueOf('').length),
  });

  /** Serves until the process is asked to stop; a namespace only while it is left to these workers. */
  async run(temporal: TemporalOptions): Promise<void> {
    const { logger, stop } = this.#in;
    const watched = {
      client: new Client({ ...clientOptions(temporal), connection: temporal.connection.view() }),
      kube: this.#client,
      cluster: this.#cluster,
      namespace: this.namespace,
      shards: this.#portions[0]!.shards,
      logger,
      stop,
    };
    let replaced: string | undefined;
    while (!stop.aborted) {
      // What was decided for another cluster must not be done in this one.
      const uid = await waitUntilWatched(watched, { replaced });
      if (uid === undefined) return;
      try {
        if (!(await this.#serve(temporal, watched, uid))) return;
      } catch (error) {
        if (stop.aborted && isAbort(error)) return;
        if (this.namespace === undefined || !isRefusal(error)) throw error;
        logger.warn('a namespace is no longer served', { namespace: this.namespace, error: error.message });
        replaced = uid;
      }
    }
  }

  async close(): Promise<void> {
    await this.#client.close();
  }

  /**
   * Returns true if it is to be served anew, on all objects of the cluster. Throws what `isRefusal` tells once it is no
   * longer for these workers to serve.
   */
  async #serve(
    temporal: TemporalOptions,
    watched: KeepWatchOptions & { logger: Logger },
    uid: string,
  ): Promise<boolean> {
    const { logger, metrics } = this.#in;
    const ending = new AbortController();
    const stop = AbortSignal.any([this.#in.stop, ending.signal]);
    const client = this.#client;
    const cache = createClusterCache({
      client,
      namespace: this.namespace,
      takes: this.#takes,
      keepsAll: this.#keepsAll,
      logger,
      metrics,
      isWatching: this.watches,
    });
    this.#cache = cache;
    metrics.watchRunning.inc(this.#servedIn(this.#portions[0]!), 0);
    try {
      // Nothing is decided on incomplete caches: the queues are served once the caches are complete.
      await untilAborted(cache.start(), stop);
      this.#beginToServe(temporal, watched, cache, stop);
      const describe = (runId: string | undefined) => watchRun(watched.client, this.#cluster, runId);
      const parts = [
        this.#serving!.run(),
        ...(this.#former === undefined ? [] : [this.#former.run()]),
        keepWatch({ ...watched, stop }, uid),
        endOn(untilTemporalRestored({ signal: stop, describe }), PUT_BACK, logger),
        this.#untilAllAreNeeded(cache, stop),
      ];
      await untilOneEnds(ending, parts, () => this.drain());
      return cache.isPartial && this.#keepsAll;
    } finally {
      this.#serving = undefined;
      this.#former = undefined;
      await cache.stop();
      this.#cache = undefined;
      if (this.namespace !== undefined) metrics.watchRunning.remove({ served: this.#cluster });
    }
  }

  #beginToServe(temporal: TemporalOptions, { client }: KeepWatchOptions, cache: ClusterCache, stop: AbortSignal): void {
    const { logger, metrics } = this.#in;
    const config = { ...this.#in.config, cluster: this.#cluster, portions: this.#portions };
    const activities = createActivities({
      config,
      client: this.#client,
      cache,
      metrics,
      onWatching: (isWatching, portion) => {
        this.#watched = isWatching ? [...this.#watched, portion] : withoutOne(this.#watched, portion);
        metrics.watchRunning.inc(this.#servedIn(portion), isWatching ? 1 : -1);
      },
      stopping: stop,
    });
    const refused = new RepeatedProblem((error) => logger.warn('Temporal rejected this worker; retrying', { error }));
    const serving = (portions: readonly Portion[], onServing: () => void): Serving =>
      new Serving({
        create: () => portions.flatMap((portion) => createWorkers(config, portion, temporal, activities)),
        cache,
        stop,
        onServing,
        onProblem: ({ message }) => refused.lasts(message),
      });
    this.#serving = serving(this.#portions, () => this.#sayReady(cache));
    if (!this.#takesAll) return;
    this.#former = new FormerQueues({
      find: () => busyElsewhere(client, this.#cluster, this.#all),
      serve: (portion) =>
        serving([portion], () => logger.info('a former task queue is polled', this.#servedIn(portion))),
      stop,
      onError: (error) => logger.warn('former task queues could not be looked for', { error: error.message }),
    });
  }

  /** Whether it takes what is in no namespace, for which it must know all namespaces. */
  get #takesAll(): boolean {
    return this.#portions.some(({ shard }) => shard === undefined);
  }

  /** Whether a namespace is its to act in; undefined if each is. */
  get #takes(): ((namespace: string) => boolean) | undefined {
    if (this.#takesAll) return undefined;
    return (namespace) => this.#portions.some((portion) => isInPortion(portion, namespace));
  }

  /** Resolves once a cluster-wide disruption budget is seen, while only some namespaces are known. */
  async #untilAllAreNeeded(cache: ClusterCache, stop: AbortSignal): Promise<void> {
    const needed = Promise.withResolvers<void>();
    const look = (): void => {
      if (cache.isPartial && [...cache.budgets.values()].some(({ metadata }) => metadata.namespace === undefined))
        needed.resolve();
    };
    const unsubscribe = cache.subscribe(({ kind }) => kind === 'budget' && look());
    look();
    try {
      await untilAborted(needed.promise, stop);
      this.#keepsAll = true;
      this.#in.logger.warn('a disruption budget is cluster-wide: the worker begins anew, to know all VMs');
    } catch (error) {
      if (!stop.aborted) throw error;
    } finally {
      unsubscribe();
    }
  }

  #sayReady(cache: ClusterCache): void {
    this.#in.logger.info('worker ready', {
      cluster: this.#cluster,
      ...(this.namespace === undefined ? {} : { namespace: this.namespace }),
      ...(this.#all.length === 1 ? {} : { takes: this.#portions.map(({ shard = 'cluster' }) => shard) }),
      server: this.#client.server,
      pools: cache.pools.size,
      vms: cache.vms.size,
      ...(cache.missing.length === 0 ? {} : { off: cache.missing.map(formatMissing) }),
    });
  }
}

/** Returns what watches are for once one of them has ended. */
function withoutOne(watched: readonly Portion[], { shard }: Portion): Portion[] {
  const index = watched.findIndex((portion) => portion.shard === shard);
  return watched.filter((_, other) => other !== index);
}
