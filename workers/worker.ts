import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { DataConverter } from '@temporalio/common';
import { bundleWorkflowCode, Runtime, type Logger } from '@temporalio/worker';
import { whyUnreadable } from '../api/manifest/unreadable.ts';
import type { KubeConfigChoice } from '../kubernetes/config.ts';
import type { WorkerConfig } from './config.ts';
import { loadDataConverter } from './connection/data-converter.ts';
import { TemporalConnection } from './connection/temporal-connection.ts';
import { endByForce } from './ending/end-by-force.ts';
import { endOnFault } from './ending/end-on-fault.ts';
import { endOn, isAbort, untilOneEnds } from './ending/until-one-ends.ts';
import { addressToServe, hostAndPort } from './health/address.ts';
import { healthOf } from './health/health-of.ts';
import { serveHealth } from './health/health.ts';
import { createLogger } from './logger.ts';
import { createMetrics } from './metrics/metrics.ts';
import { Served } from './served.ts';
import { failureConverterPath, workflowsPath } from './workflows-path.ts';

const LEFT_MS = 1_000;

/**
 * Serves the task queues of one cluster, or of some of its namespaces, until the process is asked to stop (SIGINT,
 * SIGTERM), then drains and returns.
 */
export async function runWorker(config: WorkerConfig, kube: KubeConfigChoice = {}): Promise<void> {
  const logger = createLogger(config.logLevel);
  const given = config.settings.filter(({ from }) => from !== 'default');
  logger.info('settings', Object.fromEntries(given.map(({ setting, value, from }) => [setting, `${value} (${from})`])));
  await installRuntime(logger, config);
  const dataConverter = await loadDataConverter(config.dataConverter ?? undefined);
  const bundled = config.workflowBundle === null ? null : bundledFiles(config.workflowBundle, dataConverter);
  const stopping = stopOnSignals();
  const stop = stopping.signal;
  endByForce({ stop, logger });
  const metrics = createMetrics(config.cluster);
  const surroundings = { config, kube, logger, metrics, stop };
  const all = (config.namespaces ?? [undefined]).map((namespace) => new Served(surroundings, namespace));
  const drain = (): void => {
    for (const one of all) one.drain();
  };
  endOnFault({
    logger,
    onFault: (kind) => metrics.faults.inc({ kind }),
    drain: () => {
      stopping.abort();
      drain();
    },
  });
  const server = config.health && (await serveHealth(config.health, healthOf(all, metrics, config.settings)));
  let connection: TemporalConnection | undefined;
  try {
    connection = await TemporalConnection.open({ logger, stop });
    const failures = dataConverter && { failureConverterPath: bundled?.failureConverterPath ?? failureConverterPath };
    const temporal = {
      connection,
      workflowBundle: bundled ?? (await bundleWorkflowCode({ workflowsPath, logger, ...failures })),
      ...(dataConverter === undefined ? {} : { dataConverter: { ...dataConverter, ...failures } }),
    };
    const renewed = endOn(connection.followRenewals(), 'another namespace of Temporal is configured', logger);
    await untilOneEnds(stopping, [...all.map((one) => one.run(temporal)), renewed], drain);
  } catch (error) {
    if (!(stop.aborted && isAbort(error))) throw error;
  } finally {
    await connection?.close();
    await Promise.all(all.map((one) => one.close()));
    server?.close();
    // An attempt to connect can't be ended, and would keep the process for half a minute.
    setTimeout(() => process.exit(), LEFT_MS).unref();
  }
}

interface BundledFiles {
  codePath: string;
  failureConverterPath: string;
}

/**
 * Returns what `node deploy/build.ts` has written beside the bundle at `path`. Temporal's SDK reads the bundle for each
 * worker that it creates, which is tried again whatever has failed: so it is read once here. Throws if it can't be.
 */
function bundledFiles(path: string, dataConverter: DataConverter | undefined): BundledFiles {
  const codePath = dataConverter === undefined ? path : join(dirname(path), 'workflows-with-codecs.js');
  try {
    readFileSync(codePath);
  } catch (error) {
    throw new Error(`DROVER_WORKFLOW_BUNDLE=${codePath}: can't be read: ${whyUnreadable(error)}`, { cause: error });
  }
  return { codePath, failureConverterPath: join(dirname(path), 'failure-converter.mjs') };
}

async function installRuntime(logger: Logger, { cluster, temporalMetrics: to }: WorkerConfig): Promise<void> {
  const bindAddress = to && hostAndPort({ ...to, address: await addressToServe(to.address) });
  Runtime.install({
    logger,
    ...(bindAddress === null
      ? {}
      : { telemetryOptions: { metrics: { globalTags: { cluster }, prometheus: { bindAddress } } } }),
  });
}

/**
 * Returns a controller that SIGINT and SIGTERM abort: Temporal's runtime takes the signals over, and acts on them only
 * once there is a worker.
 */
function stopOnSignals(): AbortController {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  return stop;
}
