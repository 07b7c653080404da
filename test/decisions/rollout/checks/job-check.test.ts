import { describe, expect, test } from 'vitest';
import type { CheckStatus, StepCheck } from '../../../../api/pool/pool.ts';
import {
  afterLook,
  staleJob,
  runOf,
  subjectOf,
  verdictOf,
  type Looked,
} from '../../../../decisions/rollout/checks/check.ts';
import { jobName, jobOf, lookAtJob } from '../../../../decisions/rollout/checks/job-check.ts';
import { aStep, at, NOW, rolling, rolloutInput } from '../../fixtures/rollout-pools.ts';

const template = {
  metadata: { labels: { app: 'test' } },
  spec: { backoffLimit: 2, template: { spec: { containers: [] } } },
};
const CHECK: StepCheck = { job: { template }, deadline: '30m' };
const STATE = rolling({ stepReachedAt: at(NOW - 60_000) });
const OF = subjectOf(CHECK, STATE)!;
const { pool } = rolloutInput({
  spec: { rollout: { steps: [aStep(1, { check: CHECK })] } },
  status: { rollout: STATE },
});
const JOB = { name: 'web-check-1', uid: 'u' };

const conditions = (...types: [string, string?][]) => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: JOB.name },
  status: { conditions: types.map(([type, reason = '']) => ({ type, status: 'True', reason, message: 'so it is' })) },
});

describe('a Job', () => {
  test.each<[string, object, object | null]>([
    ['that has not begun', { metadata: { name: JOB.name } }, null],
    ['that runs', { metadata: { name: JOB.name }, status: { active: 1 } }, null],
    ['that is suspended', conditions(['Suspended']), null],
    ['that is about to be complete', conditions(['SuccessCriteriaMet']), null],
    ['that is complete', conditions(['SuccessCriteriaMet'], ['Complete']), { outcome: 'Holds' }],
    [
      'whose pods have failed too often',
      conditions(['FailureTarget'], ['Failed', 'BackoffLimitExceeded']),
      { outcome: 'Fails', message: 'Job web-check-1 has failed: BackoffLimitExceeded: so it is' },
    ],
    [
      'that has not ended in time, whether it began or not',
      conditions(['Failed', 'DeadlineExceeded']),
      { outcome: 'Unknown', message: 'Job web-check-1 has not ended in time' },
    ],
  ])('%s', (_what, job, look) => {
    const seen = lookAtJob(job as Parameters<typeof lookAtJob>[0]);
    if (look === null) expect(seen).toBeNull();
    else expect(seen).toMatchObject(look);
  });

  test('has a name of its pool, step and number, and no other', () => {
    const name = jobName(pool, OF, 1);
    expect(name).toMatch(/^web-check-[0-9a-f]{10}$/);
    expect(jobName(pool, OF, 1)).toBe(name);
    const others = [
      jobName(pool, OF, 2),
      jobName(pool, { ...OF, step: 2 }, 1),
      jobName({ ...pool, metadata: { ...pool.metadata, uid: 'other' } }, OF, 1),
    ];
    expect(new Set([name, ...others]).size).toBe(4);
    expect(jobName({ ...pool, metadata: { ...pool.metadata, name: 'x'.repeat(57) } }, OF, 1).length).toBeLessThan(64);
  });

  test('belongs to its pool, ends with the check, and stays until a worker has seen its end', () => {
    const job = jobOf(pool, CHECK, { spec: { ...template.spec, ttlSecondsAfterFinished: 0 } }, 'a');
    expect(job).toMatchObject({
      metadata: { name: 'a', ownerReferences: [{ uid: pool.metadata.uid, controller: true }] },
      spec: { backoffLimit: 2, activeDeadlineSeconds: 1800, ttlSecondsAfterFinished: 600 },
    });
    expect(jobOf(pool, CHECK, { spec: { ...template.spec, activeDeadlineSeconds: 5 } }, 'a')).toMatchObject({
      spec: { activeDeadlineSeconds: 5 },
    });
  });
});

/** What is known after these looks. */
const after = (looks: Looked[], ms = 60_000, check = CHECK): CheckStatus =>
  looks.reduce<CheckStatus | undefined>(
    (seen, look, n) => afterLook(seen, { check, of: OF }, look, NOW + n * ms),
    undefined,
  )!;

describe('a check by a Job', () => {
  const RUNNING: Looked = { running: JOB };
  const holds: Looked = { outcome: 'Holds', message: '' };
  const fails: Looked = { outcome: 'Fails', message: '' };

  test('is open while its Job runs, and then as that has ended', () => {
    expect(verdictOf(CHECK, after([RUNNING]))).toBe('Open');
    expect(after([RUNNING])).toMatchObject({ job: JOB, run: 1 });
    expect(verdictOf(CHECK, after([RUNNING, holds]))).toBe('Passed');
    expect(after([RUNNING, holds]).job).toBeUndefined();
    expect(verdictOf(CHECK, after([RUNNING, fails]))).toBe('Failed');
  });

  test('that must hold for a time takes several Jobs, whatever time each takes', () => {
    const check = { ...CHECK, holdsFor: '20m' };
    const minutes = (...looks: Looked[]): CheckStatus => after(looks, 10 * 60_000 - 1, check);
    expect(verdictOf(check, minutes(RUNNING, holds))).toBe('Open');
    const each = (...looks: Looked[]): CheckStatus => after(looks, 120_000, check);
    const twelve = Array.from({ length: 12 }, () => holds);
    expect(verdictOf(check, each(RUNNING, ...twelve.slice(2)))).toBe('Open');
    expect(verdictOf(check, each(RUNNING, ...twelve))).toBe('Passed');
    expect(verdictOf(check, each(...twelve.slice(1), RUNNING))).toBe('Passed');
  });

  test('never takes an earlier Job for another one, however long nobody looked', () => {
    const seen = after([RUNNING, fails]);
    expect(runOf(seen)).toBe(2);
    const late = afterLook(seen, { check: CHECK, of: OF }, RUNNING, NOW + 3_600_000);
    expect(late).toMatchObject({ run: 2, inARow: 0, startedAt: at(NOW + 3_600_000) });
  });

  test('leaves its Job once nobody waits for that', () => {
    const check = after([RUNNING]);
    const left = (rollout: object): unknown =>
      staleJob({ ...pool, status: { replicas: 1, check, rollout: { ...STATE, ...rollout } } });
    expect(left({})).toBeNull();
    for (const rollout of [{ step: 1 }, { paused: { by: 'ann', at: at(NOW) } }, { revision: 'other' }])
      expect(left(rollout)).toEqual(JOB);
  });
});
