import { CHECK_LABEL } from '../../../api/labels-and-annotations.ts';
import type { KubeObject } from '../../../api/objects.ts';
import type { CheckStatus, StepCheck } from '../../../api/pool/pool.ts';
import { field, isObject } from '../../lib/json.ts';
import { hashOf } from '../../template/revision.ts';
import { ownerReference } from '../../template/vm-from-template.ts';
import type { StoredPool } from '../../views/pool.ts';
import { checkRules, type Look } from './check.ts';

/** A finished Job stays at least this long, for workers to see how it has ended. */
const LEAST_TTL_SECONDS = 600;
/** Of pods that a Job makes, the name of the Job is a label; those of pools have 57 characters. */
const NAME_LENGTH = 40;

export type JobTemplate = NonNullable<StepCheck['job']>['template'];

/** The name of a Job of a check, whichever worker makes it. `run`: which of its Jobs, counted from 1. */
export const jobName = ({ metadata }: StoredPool, of: CheckStatus['of'], run: number): string =>
  `${metadata.name.slice(0, NAME_LENGTH)}-check-${hashOf([metadata.uid, of, run])}`;

/** Returns a Job of a check. It ends by the deadline of the check, and goes with the pool. */
export function jobOf(pool: StoredPool, check: StepCheck, template: JobTemplate, name: string): KubeObject {
  const { metadata = {}, spec } = template;
  const { ttlSecondsAfterFinished: ttl } = spec as { ttlSecondsAfterFinished?: number };
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      ...metadata,
      namespace: pool.metadata.namespace,
      name,
      labels: { ...metadata.labels, [CHECK_LABEL]: pool.metadata.name },
      ownerReferences: [{ ...ownerReference('VirtualMachinePool', pool.metadata), blockOwnerDeletion: false }],
    },
    spec: {
      activeDeadlineSeconds: Math.max(Math.ceil(checkRules(check).deadlineMs / 1000), 1),
      ...spec,
      ...(ttl === undefined ? {} : { ttlSecondsAfterFinished: Math.max(ttl, LEAST_TTL_SECONDS) }),
    },
  };
}

/** Returns what a Job says about its check; null while it has not ended. */
export function lookAtJob(job: KubeObject): Look | null {
  const { name } = job.metadata;
  const conditions = field(job, 'status', 'conditions');
  const condition = (type: string): unknown =>
    Array.isArray(conditions)
      ? conditions.find((one) => field(one, 'type') === type && field(one, 'status') === 'True')
      : undefined;
  if (condition('Complete') !== undefined) return { outcome: 'Holds', message: `Job ${name} has succeeded` };
  const failed = condition('Failed');
  if (!isObject(failed)) return null;
  const message = [failed['reason'], failed['message']]
    .filter((one) => typeof one === 'string' && one !== '')
    .join(': ');
  // One that took too long may never have begun: nothing is known of what it was to check.
  return failed['reason'] === 'DeadlineExceeded'
    ? { outcome: 'Unknown', message: `Job ${name} has not ended in time` }
    : { outcome: 'Fails', message: `Job ${name} has failed: ${message}` };
}
