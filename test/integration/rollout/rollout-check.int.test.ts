import { afterAll, beforeAll, expect, test } from 'vitest';
import type { KubeObject } from '../../../api/objects.ts';
import type { PoolStatus, Rollout, StepCheck } from '../../../api/pool/pool.ts';
import { Jobs, VirtualMachinePools } from '../../../api/resources.ts';
import { aFleet, until, type TestWorker } from '../fleet.ts';
import { userWith } from '../operations/operations.ts';
import { TestPrometheus } from '../prometheus.ts';
import { checkAt, templateOf, TestPool } from './rollouts.ts';

const fleet = aFleet({ workers: 0 });

let prometheus: TestPrometheus;
let worker: TestWorker;
beforeAll(async () => {
  prometheus = await TestPrometheus.start(1);
  worker = await startWorker();
});
afterAll(() => prometheus?.end());

const startWorker = (): Promise<TestWorker> => fleet().startWorker({ DROVER_CHECK_ADDRESSES: prometheus.url });

/** A pool whose rollout waits at its first VM until the value has been 1 for six seconds. */
async function aPool(check: Partial<StepCheck> = {}, query = 'shown'): Promise<TestPool> {
  const asked = { prometheus: { address: prometheus.url, query, min: 1 }, holdsFor: '6s', every: '5s', ...check };
  return TestPool.ready(fleet(), { replicas: 2, rollout: { steps: [checkAt(1, asked)] } });
}

/** Returns the status in which the check has looked like this. */
const untilSeen = (pool: TestPool, check: Partial<NonNullable<PoolStatus['check']>>): Promise<PoolStatus> =>
  pool.until({ check });

test('a step passes once its query has held for its time, though Prometheus and all workers are away meanwhile', async () => {
  prometheus.shown = 0;
  const pool = await aPool({ failureThreshold: 1_000 });
  const next = await pool.change(templateOf({ cores: 2 }));
  await pool.untilSaid({ Progressing: 'WaitingForCheck' });
  await untilSeen(pool, { outcome: 'Fails', message: '0 is less than 1' });
  await prometheus.stop();
  const unknown = await untilSeen(pool, { outcome: 'Unknown' });
  expect(unknown.check!.message).toMatch(/^http:\/\/127.0.0.1:\d+ does not answer: /);
  expect((await pool.condition('Progressing'))!.reason).toBe('WaitingForCheck');
  prometheus.shown = 1;
  await prometheus.begin();
  await untilSeen(pool, { outcome: 'Holds', message: '1 is at least 1' });
  await worker.kill();
  // Once a worker is back, the time may have passed.
  expect(await pool.running(next)).toHaveLength(1);
  worker = await startWorker();
  await pool.untilComplete(next);
  const { check } = await pool.status();
  expect(Date.parse(check!.lastAt) - Date.parse(check!.holdsSince!)).toBeGreaterThanOrEqual(6_000);
});

test.each([
  ['halts', 'Pause', 'Failed'],
  ['is undone', 'Undo', 'Undone'],
] as const)('a rollout whose check fails %s', async (_what, onFailure, reason) => {
  prometheus.shown = 0.5;
  await until(async () => expect(await prometheus.value('shown')).toBe(0.5));
  const pool = await aPool({ failureThreshold: 2, onFailure });
  const next = await pool.change(templateOf({ cores: 2 }));
  await pool.untilSaid({ Progressing: reason, Degraded: reason });
  expect((await pool.status()).rollout!.halted!.reason).toBe(
    'the check of step 1 of 1 has failed: 0.5 is less than 1, 2 times in a row',
  );
  expect(await pool.running(next)).toHaveLength(onFailure === 'Undo' ? 0 : 1);
});

test('a query whose value is not a number neither passes nor fails a step, and a user promotes past it', async () => {
  prometheus.shown = 1;
  const pool = await aPool({ failureThreshold: 1, holdsFor: '1s', deadline: '5s' }, 'shown * NaN');
  const next = await pool.change(templateOf({ cores: 2 }));
  await pool.untilSaid({ Progressing: 'WaitingForApproval' });
  await untilSeen(pool, { outcome: 'Unknown', message: 'the value of the query is NaN, which is not a number' });
  await pool.request('promote');
  await pool.untilComplete(next);
});

// There is no kube-controller-manager: the tests play the controller of Jobs.
const JOB = {
  template: { spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'ask', image: 'ask' }] } } } },
};

/** Waits for the only Job of the pool, and ends it. */
async function endJob({ namespace }: TestPool, how: 'Complete' | 'Failed'): Promise<string> {
  let name = '';
  await until(async () => {
    const { items } = await fleet().kube.list(Jobs, { namespace });
    expect(items).toHaveLength(1);
    name = items[0]!.metadata.name;
  });
  const now = new Date().toISOString();
  const [before, reason] =
    how === 'Complete' ? ['SuccessCriteriaMet', 'CompletionsReached'] : ['FailureTarget', 'BackoffLimitExceeded'];
  const conditions = [before, how].map((type) => ({
    type,
    status: 'True',
    reason,
    message: '',
    lastProbeTime: now,
    lastTransitionTime: now,
  }));
  const status = {
    startTime: now,
    conditions,
    ...(how === 'Complete' ? { completionTime: now, succeeded: 1 } : { failed: 1 }),
  };
  await fleet().kube.patch(Jobs, { namespace, name }, 'merge', { status }, { subresource: 'status' });
  return name;
}

test('a step passes once its Job has succeeded, which a worker that takes over finds', async () => {
  const pool = await TestPool.ready(fleet(), { replicas: 2, rollout: { steps: [checkAt(1, { job: JOB })] } });
  const next = await pool.change(templateOf({ cores: 2 }));
  await until(async () => expect((await fleet().kube.list(Jobs, { namespace: pool.namespace })).items).toHaveLength(1));
  await worker.kill();
  worker = await startWorker();
  const name = await endJob(pool, 'Complete');
  await pool.untilComplete(next);
  const { items } = await fleet().kube.list(Jobs, { namespace: pool.namespace });
  expect(items.map(({ metadata }) => metadata.name)).toEqual([name]);
  expect((await pool.status()).check).toMatchObject({ outcome: 'Holds', message: `Job ${name} has succeeded` });
});

test('a rollout whose Job fails is undone, and a Job that nobody waits for is deleted', async () => {
  const rollout = { steps: [checkAt(1, { job: JOB, onFailure: 'Undo' })] };
  const [failing, promoted] = await Promise.all([
    TestPool.ready(fleet(), { replicas: 2, rollout }),
    TestPool.ready(fleet(), { replicas: 2, rollout }),
  ]);
  const [, next] = await Promise.all([failing, promoted].map((pool) => pool.change(templateOf({ cores: 2 }))));
  const name = await endJob(failing, 'Failed');
  await failing.untilSaid({ Progressing: 'Undone' });
  expect((await failing.status()).rollout!.halted!.reason).toContain(`Job ${name} has failed: BackoffLimitExceeded`);
  await promoted.untilSaid({ Progressing: 'WaitingForCheck' });
  await until(async () =>
    expect((await fleet().kube.list(Jobs, { namespace: promoted.namespace })).items).toHaveLength(1),
  );
  await promoted.request('promote');
  await promoted.untilComplete(next!);
  await until(async () => expect((await fleet().kube.list(Jobs, { namespace: promoted.namespace })).items).toEqual([]));
});

const rolloutBy = (job: object): Rollout => ({ steps: [checkAt(1, { job } as StepCheck)] });

test('only a user who may create Jobs may have a check run them', async () => {
  const namespace = await fleet().namespace();
  const pools = { apiGroups: ['drover.dev'], resources: ['virtualmachinepools'], verbs: ['get', 'create', 'patch'] };
  const jobs = { apiGroups: ['batch'], resources: ['jobs'], verbs: ['create'] };
  const ann = await userWith(fleet(), namespace, 'ann', [pools, jobs]);
  const bob = await userWith(fleet(), namespace, 'bob', [pools]);
  const refusal = /bob may not have checks run Jobs: that takes the right to create jobs of batch in namespace/;
  const key = { namespace, name: 'web' };
  const pool: KubeObject = {
    metadata: key,
    spec: { replicas: 0, template: templateOf(), rollout: rolloutBy(JOB) },
  };
  await expect(bob.kube.create(VirtualMachinePools, pool)).rejects.toThrow(refusal);
  await ann.kube.create(VirtualMachinePools, pool);
  const patch = (spec: object): Promise<unknown> => bob.kube.patch(VirtualMachinePools, key, 'merge', { spec });
  await patch({ replicas: 1, paused: true });
  const { template } = JOB.template.spec;
  for (const spec of [
    { template, backoffLimit: 1 },
    { template: { spec: { ...template.spec, serviceAccountName: 'x' } } },
  ])
    await expect(patch({ rollout: rolloutBy({ template: { spec } }) })).rejects.toThrow(refusal);
  await Promise.all([ann, bob].map(({ kube }) => kube.close()));
});
