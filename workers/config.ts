import { portionsOf, type Portion } from '../decisions/shards/portion.ts';
import { gatherSettings, type Given } from './settings/gather.ts';
import { ConfigError, settingsInForce, type InForce } from './settings/in-force.ts';
import { masked } from './settings/masked.ts';
import { valueOf } from './settings/schema.ts';
import { isOfDashboard, SETTINGS, type SettingName } from './settings/settings.ts';

type WholeNumber = {
  [Name in SettingName]: (typeof SETTINGS)[Name] extends { within: unknown } ? Name : never;
}[SettingName];
type LogLevel = (typeof SETTINGS)['worker.logLevel']['oneOf'][number];

export interface WorkerConfig {
  /** drover's name for the Kubernetes cluster: part of every workflow ID and of the task queue. */
  cluster: string;
  /** The only namespaces that it serves, at least one; undefined for all of the cluster. */
  namespaces: readonly string[] | undefined;
  /** What it takes of the cluster. */
  portions: readonly Portion[];
  /** VMs of one pool in progress at once. */
  burst: number;
  /** Concurrent calls to the API server, for one activity. */
  concurrency: number;
  /** Connections to the API server. */
  connections: number;
  /** Concurrent activities that act (`slots`), and that only wait for VMs (`waitSlots`). */
  slots: number;
  waitSlots: number;
  /** Workflows kept in memory between their workflow tasks. */
  cachedWorkflows: number;
  health: { address: string; port: number } | null;
  /** What serves the metrics of Temporal's SDK, such as task latency; null if they are not served. */
  temporalMetrics: { address: string; port: number } | null;
  /** Path of the `workflows.js` that `deploy/build.ts` wrote; null if the worker bundles the workflows at startup. */
  workflowBundle: string | null;
  /** URLs that checks of rollouts may ask, and all below these. */
  checkAddresses: readonly string[];
  /** Path of a module that encodes Temporal's payloads; null if they stay as they are. */
  dataConverter: string | null;
  logLevel: LogLevel;
  /** All settings that are in force, without secrets in them. */
  settings: readonly InForce[];
}

/** Returns what a worker is to do by its settings. Throws `ConfigError`. */
export const readConfig = (env: NodeJS.ProcessEnv): WorkerConfig => configOf(gatherSettings(env));

/** Throws `ConfigError`. */
export function configOf(given: Given): WorkerConfig {
  const settings = settingsInForce(given, (name) => !isOfDashboard(name));
  const values = new Map(settings.map(({ setting, value }) => [setting, value]));
  const text = (name: SettingName): string | null => values.get(name) ?? null;
  const list = (name: 'worker.namespaces' | 'worker.takes' | 'worker.checkAddresses'): string[] | undefined => {
    const all = text(name);
    return all === null ? undefined : (valueOf(SETTINGS[name], all) as string[]);
  };
  const whole = (name: WholeNumber): number => Number(values.get(name));
  const [address, port, metricsPort] = [
    text('worker.healthAddress')!,
    text('worker.healthPort'),
    text('worker.temporalMetricsPort'),
  ];
  const namespaces = list('worker.namespaces');
  return {
    cluster: text('cluster')!,
    namespaces,
    portions: takenOf(whole('worker.shards'), list('worker.takes'), namespaces),
    burst: whole('worker.burst'),
    concurrency: whole('worker.concurrency'),
    connections: whole('worker.connections'),
    slots: whole('worker.slots'),
    waitSlots: whole('worker.waitSlots'),
    cachedWorkflows: whole('worker.cachedWorkflows'),
    health: port === null ? null : { address, port: Number(port) },
    temporalMetrics: metricsPort === null ? null : { address, port: Number(metricsPort) },
    workflowBundle: text('worker.workflowBundle'),
    checkAddresses: list('worker.checkAddresses') ?? [],
    dataConverter: text('dataConverter'),
    logLevel: text('worker.logLevel') as LogLevel,
    settings: settings.map(({ value, ...one }) => ({ ...one, value: value && masked(value) })),
  };
}

/** Returns the portions of the cluster that a worker takes. */
function takenOf(
  shards: number,
  takes: readonly string[] | undefined,
  namespaces: readonly string[] | undefined,
): Portion[] {
  if (shards > 1 && namespaces !== undefined)
    throw new ConfigError('DROVER_SHARDS: a worker of chosen namespaces takes no shards of the cluster');
  const all = portionsOf(shards);
  if (takes === undefined) return all;
  const unknown = takes.find((one) => one !== 'cluster' && (shards === 1 || Number(one) >= shards));
  if (unknown !== undefined)
    throw new ConfigError(
      shards === 1
        ? `DROVER_TAKES=${takes.join(',')}: there are no shards; DROVER_SHARDS divides the cluster`
        : `DROVER_TAKES=${takes.join(',')}: the shards are 0 to ${shards - 1}`,
    );
  return all.filter(({ shard = 'cluster' }) => takes.includes(String(shard)));
}
