import { Client } from '@temporalio/client';
import type { Logger, Worker, WorkerOptions } from '@temporalio/worker';
import type { ClusterCache } from '../activities/cache/cluster-cache.ts';
import { ensureCurrentAttempt } from '../activities/lib/current-attempt.ts';
import { workersOf } from '../api/claims/claim.ts';
import { KubeClient } from '../kubernetes/client.ts';
import type { KubeConfigChoice } from '../kubernetes/config.ts';
import packageJson from '../package.json' with { type: 'json' };
import { taskQueueOf, waitQueueOf, watchQueueOf } from '../workflows/lib/messages.ts';
import { createActivities } from './activities.ts';
import { createClusterCache, formatMissing } from './cluster-cache.ts';
import type { WorkerConfig } from './config.ts';
import type { TemporalConnection } from './connection/temporal-connection.ts';
import { untilAborted } from './ending/until-aborted.ts';
import { endOn, isAbort, untilOneEnds } from './ending/until-one-ends.ts';
import { RepeatedProblem } from './health/repeated-problem.ts';
import type { Metrics } from './metrics/metrics.ts';
import { refuseDelegated } from './refuse-delegated.ts';
import { ReplayingWorker } from './replaying-worker.ts';
import { Serving } from './serving.ts';
import { watchRun } from './watch/cluster-watch.ts';
import { isRefusal, keepWatch, waitUntilWatched, type KeepWatchOptions } from './watch/keep-watch.ts';
import { untilTemporalRestored } from './watch/temporal-restored.ts';

/** Longer than any one call to the API server, so that a worker that shuts down finishes what it has begun. */
const GRACE = '35s';
/** A cluster has one watch; more slots are for successors of a watch that was just given up. */
const WATCHES = 4;

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

/** How the process reaches Temporal, and what it runs there. */
export interface TemporalOptions extends Pick<WorkerOptions, 'dataConverter'> {
  connection: TemporalConnection;
  workflowBundle: NonNullable<WorkerOptions['workflowBundle']>;
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
  #cache: ClusterCache | undefined;
  #serving: Serving | undefined;
  /** How many of its watches run: for a moment one more, if a watch was given up. */
  #watches = 0;

  constructor(surroundings: Surroundings, namespace?: string) {
    const { config, kube, metrics } = surroundings;
    this.#in = surroundings;
    this.namespace = namespace;
    this.#cluster = namespace === undefined ? config.cluster : workersOf(config.cluster, namespace);
    if (namespace === undefined) metrics.watchRunning.set({ served: this.#cluster }, 0);
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

  /** Whether this worker watches it for all workers, and reports its objects. */
  get isWatching(): boolean {
    return this.#watches > 0;
  }

  /** Takes no more work, and lets running work finish. */
  drain(): void {
    this.#serving?.drain();
  }

  /** Serves until the process is asked to stop; a namespace only while it is left to these workers. */
  async run(temporal: TemporalOptions): Promise<void> {
    const { logger, stop } = this.#in;
    const watched = {
      client: new Client({ ...clientOptions(temporal), connection: temporal.connection.view() }),
      kube: this.#client,
      cluster: this.#cluster,
      namespace: this.namespace,
      logger,
      stop,
    };
    let replaced: string | undefined;
    while (!stop.aborted) {
      // What was decided for another cluster must not be done in this one.
      const uid = await waitUntilWatched(watched, { replaced });
      if (uid === undefined) return;
      try {
        return await this.#serve(temporal, watched, uid);
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

  /** Throws what `isRefusal` tells once it is no longer for these workers to serve. */
  async #serve(temporal: TemporalOptions, watched: KeepWatchOptions & { logger: Logger }, uid: string): Promise<void> {
    const { config, logger, metrics } = this.#in;
    const ending = new AbortController();
    const stop = AbortSignal.any([this.#in.stop, ending.signal]);
    const client = this.#client;
    const cache = createClusterCache({
      client,
      namespace: this.namespace,
      logger,
      metrics,
      isWatching: () => this.isWatching,
    });
    this.#cache = cache;
    metrics.watchRunning.inc({ served: this.#cluster }, 0);
    try {
      // Nothing is decided on incomplete caches: the queues are served once the caches are complete.
      await untilAborted(cache.start(), stop);
      const served = { ...config, cluster: this.#cluster };
      const activities = createActivities({
        config: served,
        client,
        cache,
        metrics,
        onWatching: (isWatching) => {
          const change = isWatching ? 1 : -1;
          this.#watches += change;
          metrics.watchRunning.inc({ served: this.#cluster }, change);
        },
        stopping: stop,
      });
      const refused = new RepeatedProblem((error) => logger.warn('Temporal rejected this worker; retrying', { error }));
      this.#serving = new Serving({
        create: () => createWorkers(served, temporal, activities),
        cache,
        stop,
        onServing: () => this.#sayReady(cache),
        onProblem: ({ message }) => refused.lasts(message),
      });
      const describe = (runId: string | undefined) => watchRun(watched.client, this.#cluster, runId);
      const parts = [
        this.#serving.run(),
        keepWatch({ ...watched, stop }, uid),
        endOn(untilTemporalRestored({ signal: stop, describe }), PUT_BACK, logger),
      ];
      await untilOneEnds(ending, parts, () => this.drain());
    } finally {
      this.#serving = undefined;
      await cache.stop();
      this.#cache = undefined;
      if (this.namespace !== undefined) metrics.watchRunning.remove({ served: this.#cluster });
    }
  }

  #sayReady(cache: ClusterCache): void {
    this.#in.logger.info('worker ready', {
      cluster: this.#cluster,
      ...(this.namespace === undefined ? {} : { namespace: this.namespace }),
      server: this.#client.server,
      pools: cache.pools.size,
      vms: cache.vms.size,
      ...(cache.missing.length === 0 ? {} : { off: cache.missing.map(formatMissing) }),
    });
  }
}

const clientOptions = ({ connection, dataConverter }: TemporalOptions) => ({
  namespace: connection.namespace,
  ...(dataConverter === undefined ? {} : { dataConverter }),
});

/** Creates a worker for each of the task queues of one name. */
function createWorkers(
  { cluster, cachedWorkflows, slots, waitSlots }: WorkerConfig,
  temporal: TemporalOptions,
  activities: ReturnType<typeof createActivities>,
): Promise<Worker>[] {
  const common = {
    ...clientOptions(temporal),
    shutdownGraceTime: GRACE,
    maxHeartbeatThrottleInterval: '3s',
    // What another release has written, and this one can't continue, begins anew from the objects in Kubernetes.
    workflowFailureErrorTypes: { '*': ['NondeterminismError'] },
    // By the length of the queues that Temporal reports: few long polls while little happens, and many when it is busy.
    workflowTaskPollerBehavior: { type: 'autoscaling' },
    activityTaskPollerBehavior: { type: 'autoscaling' },
    // Tells `drover version` and the Web UI which release polls, and changes nothing about who gets which task.
    workerDeploymentOptions: {
      useWorkerVersioning: false,
      version: { deploymentName: `drover-${cluster.replaceAll('.', '-')}`, buildId: packageJson.version },
    },
  } satisfies Partial<WorkerOptions>;
  const queue = taskQueueOf(cluster);
  const create = (options: WorkerOptions): Promise<Worker> =>
    temporal.connection.serve((connection) => ReplayingWorker.create({ ...options, connection }));
  return [
    create({
      ...common,
      taskQueue: queue,
      workflowBundle: temporal.workflowBundle,
      activities: activities.working,
      maxCachedWorkflows: cachedWorkflows,
      maxConcurrentActivityTaskExecutions: slots,
      // A dead worker delays a workflow's next task by no more than this.
      stickyQueueScheduleToStartTimeout: '3s',
    }),
    // Waits cost next to nothing and last long: none of them takes the slot of an activity that acts.
    create({
      ...common,
      taskQueue: waitQueueOf(queue),
      activities: activities.waiting,
      maxConcurrentActivityTaskExecutions: waitSlots,
    }),
    create({
      ...common,
      taskQueue: watchQueueOf(queue),
      activities: activities.watching,
      maxConcurrentActivityTaskExecutions: WATCHES,
    }),
  ];
}
