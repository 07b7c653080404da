import { once } from 'node:events';
import { Client } from '@temporalio/client';
import { bundleWorkflowCode, Runtime, Worker, type Logger, type WorkerOptions } from '@temporalio/worker';
import { ClusterCache } from '../activities/cache/cluster-cache.ts';
import { offWithout } from '../activities/cache/features.ts';
import { ensureCurrentAttempt } from '../activities/lib/attempt.ts';
import { VirtualMachinePools } from '../api/resources.ts';
import type { VmiView } from '../decisions/views/vmi.ts';
import { KubeClient } from '../kubernetes/client.ts';
import { loadKubeConfig, type KubeConfigChoice } from '../kubernetes/config.ts';
import packageJson from '../package.json' with { type: 'json' };
import { taskQueueOf, waitQueueOf, watchQueueOf } from '../workflows/lib/messages.ts';
import { createActivities } from './activities.ts';
import type { WorkerConfig } from './config.ts';
import { loadDataConverter } from './data-converter.ts';
import { serveHealth, type Health } from './health/health.ts';
import { RepeatedProblem } from './health/repeated-problem.ts';
import { endOnFault } from './last-resort.ts';
import { createLogger } from './log.ts';
import { createMetrics, type Metrics } from './metrics/metrics.ts';
import { refuseLeft } from './refuse-left.ts';
import { Serving } from './serving.ts';
import { TemporalConnection } from './temporal-connection.ts';
import { watchRun } from './watch/cluster-watch.ts';
import { keepWatch, waitUntilWatched, type KeepWatchOptions } from './watch/keep-watch.ts';
import { untilPutBack } from './watch/put-back.ts';
import { workflowsPath } from './workflows-path.ts';

/** Longer than any one call to the API server, so that a worker that shuts down finishes what it has begun. */
const GRACE = '35s';
/** A cluster has one watch; more slots are for successors of a watch that was just given up. */
const WATCHES = 4;

/** Serves one cluster's task queues until the process is asked to stop (SIGINT, SIGTERM), then drains and returns. */
export async function runWorker(config: WorkerConfig, kube: KubeConfigChoice = {}): Promise<void> {
  const logger = createLogger(config.logLevel);
  installRuntime(logger, config.temporalMetrics);
  const dataConverter = await loadDataConverter(config.dataConverter ?? undefined);
  const stopping = stopOnSignals();
  const stop = stopping.signal;
  const metrics = createMetrics();
  endOnFault({
    logger,
    onFault: (kind) => metrics.faults.inc({ kind }),
    drain: () => {
      stopping.abort();
      serving?.drain();
    },
  });
  const client = new KubeClient(loadKubeConfig(kube), {
    connections: config.connections,
    userAgent: 'drover-worker',
    beforeWrite: (path) => {
      refuseLeft(cache, path);
      return ensureCurrentAttempt();
    },
    onAnswer: metrics.requests.answered,
  });
  const cache: ClusterCache = createClusterCache({ client, namespace: config.namespace, logger, metrics });
  let serving: Serving | undefined;
  const health = healthOf(cache, metrics, () => serving?.isServing === true);
  const server = config.health && (await serveHealth(config.health, health));
  let connection: TemporalConnection | undefined;
  try {
    connection = await TemporalConnection.open({ logger, stop });
    // Nothing is decided on incomplete caches: the queues are served once the caches are complete.
    await untilAborted(cache.start(), stop);
    const bundle =
      config.workflowBundle === null
        ? await bundleWorkflowCode({ workflowsPath, logger })
        : { codePath: config.workflowBundle };
    const activities = createActivities({ config, client, cache, metrics, stopping: stop });
    const temporal = {
      connection,
      namespace: connection.namespace,
      ...(dataConverter === undefined ? {} : { dataConverter }),
    };
    const watched = {
      client: new Client({ ...temporal, connection: connection.view() }),
      kube: client,
      cluster: config.cluster,
      namespace: config.namespace,
      logger,
      stop,
    };
    // What was decided for another cluster must not be done in this one.
    const uid = await waitUntilWatched(watched);
    const create = (): Promise<Worker>[] => createWorkers(config, temporal, bundle, activities);
    const onServing = (): void =>
      logger.info('worker ready', {
        cluster: config.cluster,
        ...(config.namespace === undefined ? {} : { namespace: config.namespace }),
        server: client.server,
        pools: cache.pools.size,
        vms: cache.vms.size,
        ...(cache.missing.length === 0 ? {} : { off: cache.missing.map(inWords) }),
      });
    const refused = new RepeatedProblem((error) => logger.warn('Temporal rejected this worker; retrying', { error }));
    const onProblem = ({ message }: Error): void => refused.lasts(message);
    serving = new Serving({ create, cache, stop, onServing, onProblem });
    const parts = [serving.run(), keepWatch(watched, uid), ...endings(connection, watched)];
    await untilOneEnds(stopping, parts, () => serving?.drain());
  } catch (error) {
    if (!(stop.aborted && isAbort(error))) throw error;
  } finally {
    await cache.stop();
    await connection?.close();
    await client.close();
    server?.close();
  }
}

const healthOf = (cache: ClusterCache, metrics: Metrics, isServing: () => boolean): Health => ({
  isReady: () => isServing() && Object.values(cache.caches).every(({ synced, missing }) => synced || missing !== null),
  metrics: () => {
    for (const [resource, { size, behindMs }] of Object.entries(cache.caches)) {
      metrics.objects.set({ resource }, size);
      metrics.cacheBehind.set({ resource }, behindMs / 1000);
    }
    metrics.missingKinds.reset();
    for (const { resource } of cache.missing) metrics.missingKinds.set({ resource: resource.plural }, 1);
    for (const gauges of [metrics.pools, metrics.drains, metrics.healing]) gauges.look(cache.pools.values());
    metrics.sets.look([...cache.replicaSets.values(), ...cache.vmiSets.values()]);
    metrics.operations.look(cache.operations.values(), cache.schedules.values());
    return metrics.registry.metrics();
  },
});

/**
 * Ends the worker once `reason` has come, to be started again by its supervisor. `why`: the line that it leaves in its
 * log.
 */
async function endOn(reason: Promise<void>, why: string, logger: Logger): Promise<void> {
  try {
    await reason;
  } catch (error) {
    if (isAbort(error)) return;
    throw error;
  }
  logger.warn(`${why}: the worker ends, to be started again`);
  process.exitCode = 1;
}

/** What ends a worker before it is asked to stop. */
const endings = (
  connection: TemporalConnection,
  { client, cluster, logger, stop: signal }: KeepWatchOptions & { logger: Logger },
): Promise<void>[] => [
  endOn(connection.followRenewals(), 'another namespace of Temporal is configured', logger),
  endOn(untilPutBack({ signal, describe: (runId) => watchRun(client, cluster, runId) }), PUT_BACK, logger),
];

/** What a worker has in memory of workflows does not go with what Temporal knows of them now. */
const PUT_BACK = 'Temporal was put back to an earlier moment, or has lost its data';

function installRuntime(logger: Logger, metrics: string | null): void {
  const telemetryOptions = metrics === null ? null : { metrics: { prometheus: { bindAddress: metrics } } };
  Runtime.install({ logger, ...(telemetryOptions === null ? {} : { telemetryOptions }) });
}

type TemporalOptions = Pick<WorkerOptions, 'namespace' | 'dataConverter'> & { connection: TemporalConnection };

/** Creates a worker for each of the cluster's task queues. */
function createWorkers(
  { cluster, cachedWorkflows, slots, waitSlots }: WorkerConfig,
  { connection, ...temporal }: TemporalOptions,
  workflowBundle: NonNullable<WorkerOptions['workflowBundle']>,
  activities: ReturnType<typeof createActivities>,
): Promise<Worker>[] {
  const common = {
    ...temporal,
    shutdownGraceTime: GRACE,
    maxHeartbeatThrottleInterval: '3s',
    // Tells `drover version` and the Web UI which release polls, and changes nothing about who gets which task.
    workerDeploymentOptions: {
      useWorkerVersioning: false,
      version: { deploymentName: 'drover', buildId: packageJson.version },
    },
  } as const;
  const queue = taskQueueOf(cluster);
  const create = (options: WorkerOptions): Promise<Worker> =>
    connection.serve((current) => Worker.create({ ...options, connection: current }));
  return [
    create({
      ...common,
      taskQueue: queue,
      workflowBundle,
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

/** Ends all parts when one ends, and throws the error of the part that failed. */
async function untilOneEnds(stopping: AbortController, parts: Promise<void>[], drain: () => void): Promise<void> {
  const ends = parts.map((part) =>
    part.finally(() => {
      stopping.abort();
      drain();
    }),
  );
  const results = await Promise.allSettled(ends);
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

/** What is off without a kind of object, and why. */
const inWords = ({ resource, why }: ClusterCache['missing'][number]): string =>
  `${offWithout(resource)} (${resource.plural}: ${why})`;

const isAbort = (error: unknown): boolean => error instanceof Error && error.name === 'AbortError';

/**
 * Returns a controller that SIGINT and SIGTERM abort: Temporal's runtime takes the signals over, and acts on them only
 * once there is a worker.
 */
function stopOnSignals(): AbortController {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  return stop;
}

const untilAborted = <T>(promise: Promise<T>, signal: AbortSignal): Promise<T> =>
  Promise.race([promise, once(signal, 'abort').then(() => Promise.reject(signal.reason))]);

interface CacheOptions {
  client: KubeClient;
  namespace: string | undefined;
  logger: Logger;
  metrics: Metrics;
}

function createClusterCache({ client, namespace, logger, metrics }: CacheOptions): ClusterCache {
  const cache = new ClusterCache({
    client,
    namespace,
    onError: (resource, error) => {
      metrics.watchErrors.inc({ resource });
      logger.warn('a watch failed and is restarted', { resource, error: error.message });
    },
    onContact: (isLost) => {
      metrics.serverLost.set(isLost ? 1 : 0);
      if (isLost)
        logger.error('the API server does not answer: this worker takes no more work until it does', {
          server: client.server,
        });
      else logger.info('the API server answers again', { server: client.server });
    },
    onRestored: () => logger.warn('the API server was restored from a backup: everything is listed anew'),
    onMissing: (resource, why) => {
      if (why === null)
        logger.info('a function that was off is on again', { on: offWithout(resource), resource: resource.plural });
      else logger.warn('a kind of object cannot be listed: a function is off', { off: inWords({ resource, why }) });
    },
    onMissed: (resource, count) => metrics.missedEvents.inc({ resource }, count),
    onVmiFailed: ({ namespace }) => metrics.failedVmis.inc({ namespace }),
  });
  cache.subscribe((change) => {
    if (change.kind === 'vmi') metrics.vms.change(change, (vmi) => poolOf(vmi, cache), cache.vmis.synced);
  });
  return cache;
}

function poolOf(vmi: VmiView, cache: ClusterCache): { namespace: string; pool: string } | null {
  const vm = cache.vms.get(`${vmi.namespace}/${vmi.name}`);
  return vm?.owner?.kind === VirtualMachinePools.kind && vm.uid === vmi.vmUid
    ? { namespace: vm.namespace, pool: vm.owner.name }
    : null;
}
