import { cancellationSignal } from '@temporalio/activity';
import { VirtualMachinePools } from '../../../api/resources.ts';
import type { ResourceVersions } from '../../../decisions/lib/resource-versions.ts';
import {
  afterLook,
  dueCheck,
  known,
  leftJob,
  runOf,
  type DueCheck,
  type Looked,
} from '../../../decisions/rollout/checks/check.ts';
import { jobName } from '../../../decisions/rollout/checks/job-check.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { retryOnConflict } from '../../../kubernetes/retry.ts';
import { withHeartbeat } from '../../lib/heartbeat.ts';
import { patchKept } from '../../lib/refuse-unkept.ts';
import { livePool } from '../../owners/live-owner.ts';
import type { PoolKey } from '../../owners/owner-key.ts';
import { deleteJob, lookByJob } from './job.ts';
import { lookByPrometheus, type PrometheusOptions } from './prometheus.ts';

/** How far the caller's clock, by which pools plan, may differ from the API server's. */
const APART_MS = 600_000;
/** The status of a busy pool is written often. */
const TRIES = 12;
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
  lookAtCheck: (key: PoolKey, at: number): Promise<ResourceVersions> =>
    withHeartbeat(() => lookAtCheck(options, key, at)),
});

export type CheckActivities = ReturnType<typeof createCheckActivities>;

async function lookAtCheck(options: CheckOptions, key: PoolKey, at: number): Promise<ResourceVersions> {
  const { client } = options;
  const pool = await livePool(client, key);
  if (pool === undefined) return {};
  if (!(Math.abs(at - client.clock.now()) <= APART_MS))
    throw new TypeError(
      "the clocks of Temporal and of the API server differ by more than ten minutes, or the caller's",
    );
  const left = leftJob(pool);
  if (left !== null) {
    await deleteJob(client, pool, left);
    return write(client, key, pool, { job: null });
  }
  const due = dueCheck(pool);
  if (due === null) return { pools: pool.metadata.resourceVersion };
  const begunAt = Date.now();
  const now = (): number => at + Date.now() - begunAt;
  const record = (looked: Looked): Promise<ResourceVersions> =>
    retryOnConflict(() => recorded(client, key, due, { looked, at: now() }), { tries: TRIES });
  const looked = await lookAt(options, pool, due, record);
  options.onLooked?.(looked);
  return record(looked);
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

/** Records a look, unless the rollout waits for something else meanwhile, or a later look is on record. */
async function recorded(
  client: KubeClient,
  key: PoolKey,
  due: DueCheck,
  { looked, at }: { looked: Looked; at: number },
): Promise<ResourceVersions> {
  const pool = await livePool(client, key);
  if (pool === undefined) return {};
  const { check } = pool.status ?? {};
  const isDue = JSON.stringify(dueCheck(pool)?.of) === JSON.stringify(due.of);
  if (!isDue || Date.parse(known(check, due.of)?.lastAt ?? '') > at) return { pools: pool.metadata.resourceVersion };
  return write(client, key, pool, { ...NOTHING, ...afterLook(check, due, looked, at) });
}

/** A merge patch leaves what it does not mention. */
const NOTHING = { holdsSince: null, holdsUntil: null, run: null, job: null };

async function write(client: KubeClient, key: PoolKey, pool: StoredPool, check: object): Promise<ResourceVersions> {
  const patch = { metadata: { uid: key.uid, resourceVersion: pool.metadata.resourceVersion }, status: { check } };
  const options = { subresource: 'status' };
  const written = await patchKept(client, VirtualMachinePools, key, patch, options);
  return { pools: written.metadata.resourceVersion };
}
