import * as z from 'zod';
import { namespacesIn } from '../api/claims/claim.ts';
import { VARIABLES, type VariableName } from './variables.ts';

type WholeNumber = { [Name in VariableName]: (typeof VARIABLES)[Name] extends { within: unknown } ? Name : never };

/** Accepts the whole numbers that the variable may be, given as text. */
function whole(name: WholeNumber[VariableName]) {
  const [least, most] = VARIABLES[name].within;
  return z
    .string()
    .refine(
      (text) => /^\d+$/.test(text) && Number(text) >= least && Number(text) <= most,
      `must be a whole number from ${least} to ${most}`,
    )
    .transform(Number);
}

const isNamespace = (name: string): boolean => /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name);

const Environment = z.object({
  DROVER_CLUSTER: z
    .string()
    .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/, 'must be lower-case letters, digits, "-" and "."'),
  DROVER_NAMESPACE: z
    .string()
    .transform(namespacesIn)
    .refine((names) => names.every(isNamespace), 'must be the names of namespaces, with commas between them')
    .optional(),
  DROVER_BURST: whole('DROVER_BURST'),
  DROVER_CONCURRENCY: whole('DROVER_CONCURRENCY'),
  DROVER_CONNECTIONS: whole('DROVER_CONNECTIONS'),
  DROVER_SLOTS: whole('DROVER_SLOTS'),
  DROVER_WAIT_SLOTS: whole('DROVER_WAIT_SLOTS'),
  DROVER_CACHED_WORKFLOWS: whole('DROVER_CACHED_WORKFLOWS'),
  DROVER_HEALTH_ADDRESS: z.string(),
  DROVER_HEALTH_PORT: whole('DROVER_HEALTH_PORT').optional(),
  DROVER_TEMPORAL_METRICS_PORT: whole('DROVER_TEMPORAL_METRICS_PORT').optional(),
  DROVER_WEBHOOKS: z.string().optional(),
  DROVER_WORKFLOW_BUNDLE: z.string().optional(),
  DROVER_DATA_CONVERTER: z.string().optional(),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error']),
} satisfies Record<VariableName, z.ZodType>);

const DEFAULTS = Object.fromEntries(
  Object.entries(VARIABLES).flatMap(([name, variable]) => ('value' in variable ? [[name, variable.value]] : [])),
);

export interface WorkerConfig {
  /** Drover's name for the Kubernetes cluster: part of every workflow ID and of the task queue. */
  cluster: string;
  /** The only namespaces that it serves, at least one; undefined for all of the cluster. */
  namespaces: readonly string[] | undefined;
  /** VMs of one pool in progress at once. */
  burst: number;
  /** Concurrent calls to the API server, for one activity. */
  concurrency: number;
  /** Connections to the API server. */
  connections: number;
  /** Concurrent activities: those that act (`slots`), and those that only wait for VMs (`waitSlots`). */
  slots: number;
  waitSlots: number;
  /** Workflows kept in memory between their workflow tasks. */
  cachedWorkflows: number;
  health: { address: string; port: number } | null;
  /** `address:port` that serves the metrics of Temporal's SDK, such as task latency; null if they are not served. */
  temporalMetrics: string | null;
  /** Path of the file with the receivers of notifications; null if there are none. */
  webhooks: string | null;
  /** Path of the `workflows.js` that `deploy/build.ts` wrote; null if the worker bundles the workflows at startup. */
  workflowBundle: string | null;
  /** Path of a module that encodes Temporal's payloads; null if they stay as they are. */
  dataConverter: string | null;
  logLevel: 'trace' | 'debug' | 'info' | 'warn' | 'error';
}

/** Thrown for an invalid variable; the message names it and says what would be valid. */
class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

export function readConfig(env: NodeJS.ProcessEnv): WorkerConfig {
  const set = {
    ...DEFAULTS,
    ...Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== '')),
  };
  const parsed = Environment.safeParse(set);
  if (!parsed.success) {
    throw new ConfigError(
      parsed.error.issues
        .map(({ path, message }) => `${path.join('.')}=${set[String(path[0])]}: ${message}`)
        .join('; '),
    );
  }
  const { data } = parsed;
  return {
    cluster: data.DROVER_CLUSTER,
    namespaces: data.DROVER_NAMESPACE,
    burst: data.DROVER_BURST,
    concurrency: data.DROVER_CONCURRENCY,
    connections: data.DROVER_CONNECTIONS,
    slots: data.DROVER_SLOTS,
    waitSlots: data.DROVER_WAIT_SLOTS,
    cachedWorkflows: data.DROVER_CACHED_WORKFLOWS,
    health:
      data.DROVER_HEALTH_PORT === undefined
        ? null
        : { address: data.DROVER_HEALTH_ADDRESS, port: data.DROVER_HEALTH_PORT },
    temporalMetrics:
      data.DROVER_TEMPORAL_METRICS_PORT === undefined
        ? null
        : `${data.DROVER_HEALTH_ADDRESS}:${data.DROVER_TEMPORAL_METRICS_PORT}`,
    webhooks: data.DROVER_WEBHOOKS ?? null,
    workflowBundle: data.DROVER_WORKFLOW_BUNDLE ?? null,
    dataConverter: data.DROVER_DATA_CONVERTER ?? null,
    logLevel: data.LOG_LEVEL,
  };
}
