import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject, Stored } from '../../../api/objects.ts';
import { isControlledBy } from '../../../api/owner-references.ts';
import type { CheckStatus, StepCheck } from '../../../api/pool/pool.ts';
import { Jobs, VirtualMachinePools } from '../../../api/resources.ts';
import type { Look, Looked } from '../../../decisions/rollout/checks/check.ts';
import { jobOf, lookAtJob, type JobTemplate } from '../../../decisions/rollout/checks/job-check.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { ignoreNotFound, ignoreStale, isAlreadyExists, isRefusal } from '../../../kubernetes/errors.ts';

/** How long a look waits for the end of a Job. */
const WAIT_MS = 20_000;
const POLL_MS = 1_000;

interface JobLook {
  pool: StoredPool;
  check: StepCheck;
  template: JobTemplate;
  name: string;
  /** What is on record of this Job; undefined if it was not started. */
  known: CheckStatus['job'] | undefined;
  signal: AbortSignal;
}

/** Makes the Job of a check unless it is there, and waits a while for its end. Its start is on record. */
export async function lookByJob(client: KubeClient, look: JobLook): Promise<Looked> {
  const { name, known, pool, signal } = look;
  const key = { namespace: pool.metadata.namespace, name };
  const read = (): Promise<Stored | undefined> => ignoreNotFound(client.get<KubeObject>(Jobs, key));
  try {
    let job = await read();
    if (job === undefined && known?.uid === undefined) job = await made(client, look, read);
    for (const end = Date.now() + WAIT_MS; ; job = await read()) {
      if (job === undefined || (known?.uid ?? job.metadata.uid) !== job.metadata.uid)
        return unknown(`Job ${name} was deleted before it had ended`);
      if (!isControlledBy(job, VirtualMachinePools, pool.metadata)) return unknown(`Job ${name} is not the pool's`);
      const ended = lookAtJob(job);
      if (ended !== null) return ended;
      if (Date.now() >= end) return { running: { name, uid: job.metadata.uid } };
      await sleep(POLL_MS, undefined, { signal });
    }
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return unknown(`the worker can't run Job ${name}: ${(error as Error).message}`);
  }
}

async function made(
  client: KubeClient,
  { pool, check, template, name }: JobLook,
  read: () => Promise<Stored | undefined>,
): Promise<Stored | undefined> {
  try {
    return await client.create(Jobs, jobOf(pool, check, template, name));
  } catch (error) {
    if (isAlreadyExists(error)) return read();
    throw error;
  }
}

/** Deletes a Job that is no longer waited for, with its pods, unless it has ended: then users may read its logs. */
export async function deleteJob(
  client: KubeClient,
  pool: StoredPool,
  { name }: NonNullable<CheckStatus['job']>,
): Promise<void> {
  const key = { namespace: pool.metadata.namespace, name };
  const job = await ignoreNotFound(client.get<KubeObject>(Jobs, key));
  if (job === undefined || lookAtJob(job) !== null) return;
  if (!isControlledBy(job, VirtualMachinePools, pool.metadata)) return;
  await ignoreStale(client.delete(Jobs, key, { uid: job.metadata.uid }));
}

const unknown = (message: string): Look => ({ outcome: 'Unknown', message });
