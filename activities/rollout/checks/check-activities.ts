import { cancellationSignal } from '@temporalio/activity';
import type { ResourceVersions } from '../../../decisions/lib/resource-versions.ts';
import {
  afterLook,
  dueCheck,
  known,
  staleJob,
  runOf,
  type DueCheck,
  type Looked,
} from '../../../decisions/rollout/checks/check.ts';
import { jobName } from '../../../decisions/rollout/checks/job-check.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import { ON_BUSY_STATUS } from '../../../kubernetes/retry.ts';
import { livePool, patchPool } from '../../owners/live-owner.ts';
import type { PoolKey } from '../../owners/owner-key.ts';
import { deleteJob, lookByJob } from './job.ts';
import { lookByPrometheus, type PrometheusOptions } from './prometheus.ts';

/** How far the caller's clock, which pools plan by, may differ from the API server's. */
const MAX_CLOCK_SKEW_MS = 600_000;
/** How what was seen is recorded. */
const TO_STATUS = { subresource: 'status', ...ON_BUSY_STATUS };

interface CheckOptions extends PrometheusOptions {
  /** Called with what a look has found, before it is recorded. */
  onLooked?: (looked: Looked) => void;
}

export const createCheckActivities = (options: CheckOptions) => ({
  /**
   * Looks at the check of the step that the rollout of a pool waits at, and records in its status what there was to
   * see. Takes from its caller only the time, in milliseconds since the epoch. Returns what a later plan must have
   * seen.
   */
  lookAtCheck: (key: PoolKey, at: number): Promise<ResourceVersions> => lookAtCheck(options, key, at),
});

export type CheckActivities = ReturnType<typeof createCheckActivities>;

async function lookAtCheck(options: CheckOptions, key: PoolKey, at: number): Promise<ResourceVersions> {
  const { client } = options;
  const pool = await livePool(client, key);
  if (pool === undefined) return {};
  if (!(Math.abs(at - client.clock.now()) <= MAX_CLOCK_SKEW_MS))
    throw new TypeError(
      "the clocks of Temporal and of the API server differ by more than ten minutes, or the caller's",
    );
  const stale = staleJob(pool);
  if (stale !== null) {
    await deleteJob(client, pool, stale);
    const forgets = (now: StoredPool) =>
      staleJob(now)?.name === stale.name ? { status: { check: { job: null } } } : null;
    return (await patchPool(client, key, forgets, TO_STATUS)).minVersions;
  }
  const due = dueCheck(pool);
  if (due === null) return { pools: pool.metadata.resourceVersion };
  const begunAt = Date.now();
  const now = (): number => at + Date.now() - begunAt;
  const record = (looked: Looked) =>
    patchPool(client, key, (pool) => recordOf(pool, due, { looked, at: now() }), TO_STATUS);
  const looked = await lookAt(options, pool, due, record);
  options.onLooked?.(looked);
  return (await record(looked)).minVersions;
}

/** `record`: records that a Job is started, so that the next worker finds it. */
async function lookAt(
  options: CheckOptions,
  pool: StoredPool,
  { check, of }: DueCheck,
  record: (looked: Looked) => Promise<unknown>,
): Promise<Looked> {
  const { prometheus, job } = check;
  const signal = cancellationSignal();
  if (prometheus !== undefined) return lookByPrometheus(options, pool.metadata.namespace, prometheus, signal);
  if (job === undefined) return { outcome: 'Unknown', message: 'it has neither prometheus nor job' };
  const seen = known(pool.status?.check, of);
  const name = jobName(pool, of, runOf(seen));
  if (seen?.job === undefined) await record({ running: { name } });
  return lookByJob(options.client, { pool, check, template: job.template, name, known: seen?.job, signal });
}

/**
 * Returns what a look changes in the status; null if the rollout waits for something else meanwhile, or a later look is
 * on record.
 */
function recordOf(pool: StoredPool, due: DueCheck, { looked, at }: { looked: Looked; at: number }) {
  const { check } = pool.status ?? {};
  const isDue = JSON.stringify(dueCheck(pool)?.of) === JSON.stringify(due.of);
  if (!isDue || Date.parse(known(check, due.of)?.lastAt ?? '') > at) return null;
  return { status: { check: { ...NOTHING, ...afterLook(check, due, looked, at) } } };
}

/** A merge patch leaves what it does not mention. */
const NOTHING = { holdsSince: null, holdsUntil: null, run: null, job: null };
