import * as z from 'zod';

const port = z.coerce.number().int().min(0).max(65_535);

const Environment = z.object({
  DROVER_CLUSTER: z
    .string()
    .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/, 'must be lower-case letters, digits, "-" and "."')
    .default('default'),
  DROVER_BURST: z.coerce.number().int().min(1).max(10_000).default(250),
  DROVER_CONCURRENCY: z.coerce.number().int().min(1).max(1_000).default(32),
  DROVER_CONNECTIONS: z.coerce.number().int().min(1).max(1_000).default(64),
  DROVER_HEALTH_ADDRESS: z.string().default('127.0.0.1'),
  DROVER_HEALTH_PORT: port.optional(),
  DROVER_WORKFLOW_BUNDLE: z.string().optional(),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error']).default('info'),
});

export interface WorkerConfig {
  /** Drover's name for the Kubernetes cluster: in every workflow id and in the task queue. */
  cluster: string;
  /** VMs of one pool in flight at once. */
  burst: number;
  /** Calls to the API server at once, for one activity. */
  concurrency: number;
  /** Connections to the API server. */
  connections: number;
  health: { address: string; port: number } | null;
  /** Path of what `workers/bundle.ts` wrote; null where the worker bundles the workflows when it starts. */
  workflowBundle: string | null;
  logLevel: 'trace' | 'debug' | 'info' | 'warn' | 'error';
}

/** Thrown for a variable that can't be used; the message names it and says what would be right. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

export function readConfig(env: NodeJS.ProcessEnv): WorkerConfig {
  const set = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const parsed = Environment.safeParse(set);
  if (!parsed.success) {
    throw new ConfigError(parsed.error.issues.map(({ path, message }) => `${path.join('.')}=${set[String(path[0])]}: ${message}`).join('; '));
  }
  const { data } = parsed;
  return {
    cluster: data.DROVER_CLUSTER,
    burst: data.DROVER_BURST,
    concurrency: data.DROVER_CONCURRENCY,
    connections: data.DROVER_CONNECTIONS,
    health: data.DROVER_HEALTH_PORT === undefined ? null : { address: data.DROVER_HEALTH_ADDRESS, port: data.DROVER_HEALTH_PORT },
    workflowBundle: data.DROVER_WORKFLOW_BUNDLE ?? null,
    logLevel: data.LOG_LEVEL,
  };
}
