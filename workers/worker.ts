import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { NativeConnection, Runtime, Worker, type Logger, type NativeConnectionOptions } from '@temporalio/worker';
import { withFailures } from '../activities/failure.ts';
import { Fleet } from '../activities/fleet.ts';
import { ensureCurrentAttempt } from '../activities/attempt.ts';
import { createAwaitActivities } from '../activities/await-vms.ts';
import { Places } from '../activities/disruption-budget/places.ts';
import { createHealActivities } from '../activities/heal.ts';
import { ChosenGuests } from '../activities/chosen-guests.ts';
import { createMachineTypeActivities } from '../activities/machine-types.ts';
import { createPoolActivities } from '../activities/pool.ts';
import { createRestartActivities } from '../activities/restarts.ts';
import { Revisions } from '../activities/revisions.ts';
import { createUpdateActivities } from '../activities/update.ts';
import { createWatchActivities } from '../activities/watch.ts';
import type { VmiView } from '../decisions/vmi.ts';
import { KubeClient } from '../kubernetes/client.ts';
import { loadKubeConfig, type KubeConfigChoice } from '../kubernetes/config.ts';
import { VirtualMachinePools } from '../kubernetes/resources.ts';
import { taskQueueOf } from '../workflows/messages.ts';
import type { WorkerConfig } from './config.ts';
import { loadDataConverter } from './data-converter.ts';
import { serveHealth, type Health } from './health.ts';
import { endOnFault } from './last-resort.ts';
import { createLogger } from './log.ts';
import { createMetrics, type Metrics } from './metrics.ts';
import { nudgePool, tellGone } from './nudge-pool.ts';
import { workflowsPath } from './workflows-path.ts';

/** Longer than any one call to the API server, so that a worker that is asked to end finishes what it has begun. */
const GRACE = '35s';
const CONNECT_AGAIN_MS = 1_000;

/** Serves one cluster's task queue until the process is asked to end (SIGINT, SIGTERM), then drains and returns. */
export async function runWorker(config: WorkerConfig, kube: KubeConfigChoice = {}): Promise<void> {
  const logger = createLogger(config.logLevel);
  const { temporalMetrics } = config;
  Runtime.install({ logger, ...(temporalMetrics === null ? {} : { telemetryOptions: { metrics: { prometheus: { bindAddress: temporalMetrics } } } }) });
  const dataConverter = await loadDataConverter(config.dataConverter ?? undefined);
  const stopping = stopOnSignals();
  const stop = stopping.signal;
  const metrics = createMetrics();
  endOnFault({
    logger,
    onFault: (kind) => metrics.faults.inc({ kind }),
    drain: () => {
      stopping.abort();
      if (worker?.getState() === 'RUNNING') worker.shutdown();
    },
  });
  const client = new KubeClient(loadKubeConfig(kube), { connections: config.connections, userAgent: 'drover-worker', beforeWrite: ensureCurrentAttempt });
  const fleet = createFleet(client, logger, metrics);
  let worker: Worker | undefined;
  const health: Health = {
    isReady: () => worker?.getState() === 'RUNNING' && Object.values(fleet.caches).every(({ synced }) => synced),
    metrics: () => {
      for (const [resource, { size }] of Object.entries(fleet.caches)) metrics.objects.set({ resource }, size);
      metrics.pools.look(fleet.pools.values());
      metrics.healing.look(fleet.pools.values());
      return metrics.registry.metrics();
    },
  };
  const server = config.health && (await serveHealth(config.health, health));
  let connection: NativeConnection | undefined;
  try {
    const { connectionOptions, namespace } = loadClientConnectConfig();
    connection = await connect(connectionOptions, logger, stop);
    // Nothing is decided on a picture that is not complete: the queue is served once the caches are.
    await untilAborted(fleet.start(), stop);
    const revisions = new Revisions({ client, fleet });
    const places = new Places(client, fleet);
    worker = await Worker.create({
      connection,
      namespace: namespace ?? 'default',
      taskQueue: taskQueueOf(config.cluster),
      ...(dataConverter === undefined ? {} : { dataConverter }),
      ...(config.workflowBundle === null ? { workflowsPath } : { workflowBundle: { codePath: config.workflowBundle } }),
      activities: withFailures({
        ...createPoolActivities({
          client,
          fleet,
          places,
          revisions,
          burst: config.burst,
          concurrency: config.concurrency,
          onPlanFailed: ({ namespace, name: pool }) => metrics.failedPlans.inc({ namespace, pool }),
        }),
        ...createUpdateActivities({ client, fleet, places, revisions, concurrency: config.concurrency }),
        ...createHealActivities({
          client,
          fleet,
          concurrency: config.concurrency,
          onReplaced: ({ namespace, name: pool }) => metrics.healingReplacements.inc({ namespace, pool }),
        }),
        ...createRestartActivities({ client, fleet, places, chosenGuests: new ChosenGuests(), concurrency: config.concurrency, stopping: stop }),
        ...createMachineTypeActivities({
          client,
          fleet,
          places,
          concurrency: config.concurrency,
          patchConcurrency: config.connections,
          stopping: stop,
          onLook: metrics.machineTypes.look,
          onPatched: (count) => metrics.machineTypesPatched.inc(count),
          onRestarted: (count) => metrics.machineTypesRestarted.inc(count),
        }),
        ...createAwaitActivities({ client, fleet, revisions, stopping: stop }),
        ...createWatchActivities({ fleet, burst: config.burst, nudgePool, tellGone, onFailure: () => metrics.failedNudges.inc(), stopping: stop }),
      }),
      shutdownGraceTime: GRACE,
      maxCachedWorkflows: 500,
      // Most of them wait for VMs, and cost next to nothing.
      maxConcurrentActivityTaskExecutions: 1_000,
      // A worker that died holds no workflow's next task for longer than this.
      stickyQueueScheduleToStartTimeout: '3s',
      maxHeartbeatThrottleInterval: '3s',
    });
    logger.info('worker ready', { cluster: config.cluster, server: client.server, pools: fleet.pools.size, vms: fleet.vms.size });
    if (!stop.aborted) await worker.run();
  } catch (error) {
    if (!stop.aborted) throw error;
  } finally {
    await fleet.stop();
    await connection?.close();
    await client.close();
    server?.close();
  }
}

/** Temporal may come up after the worker does: it is waited for. */
async function connect(options: NativeConnectionOptions, logger: Logger, stop: AbortSignal): Promise<NativeConnection> {
  for (;;) {
    try {
      return await NativeConnection.connect(options);
    } catch (error) {
      logger.warn('Temporal does not answer, and is tried again', { address: options.address ?? 'localhost:7233', error: (error as Error).message });
      await sleep(CONNECT_AGAIN_MS, undefined, { signal: stop });
    }
  }
}

/** Temporal's runtime takes the signals over, and acts on them only once there is a worker. */
function stopOnSignals(): AbortController {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  return stop;
}

const untilAborted = <T>(promise: Promise<T>, signal: AbortSignal): Promise<T> =>
  Promise.race([promise, once(signal, 'abort').then(() => Promise.reject(signal.reason))]);

function createFleet(client: KubeClient, logger: Logger, metrics: Metrics): Fleet {
  const fleet = new Fleet({
    client,
    onError: (resource, error) => {
      metrics.watchErrors.inc({ resource });
      logger.warn('a watch broke, and is made again', { resource, error: error.message });
    },
    onMissed: (resource, count) => metrics.missedEvents.inc({ resource }, count),
    onGuestFailed: ({ namespace }) => metrics.failedGuests.inc({ namespace }),
  });
  fleet.subscribe((change) => {
    if (change.kind === 'vmi') metrics.vms.change(change, (vmi) => poolOf(vmi, fleet), fleet.vmis.synced);
  });
  return fleet;
}

function poolOf(vmi: VmiView, fleet: Fleet): { namespace: string; pool: string } | null {
  const vm = fleet.vms.get(`${vmi.namespace}/${vmi.name}`);
  return vm?.owner?.kind === VirtualMachinePools.kind && vm.uid === vmi.vmUid ? { namespace: vm.namespace, pool: vm.owner.name } : null;
}
