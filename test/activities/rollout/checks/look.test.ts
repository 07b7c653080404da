import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, test } from 'vitest';
import { createCheckActivities } from '../../../../activities/rollout/checks/check-activities.ts';
import type { PrometheusQuery, Answer } from '../../../../activities/rollout/checks/query-prometheus.ts';
import type { Stored } from '../../../../api/objects.ts';
import type { CheckStatus, PoolStatus, StepCheck } from '../../../../api/pool/pool.ts';
import { Jobs, Secrets, VirtualMachinePools } from '../../../../api/resources.ts';
import { revisionOf } from '../../../../decisions/template/revision.ts';
import { poolTemplate } from '../../../../decisions/template/template.ts';
import { KubeError } from '../../../../kubernetes/errors.ts';
import { aStep } from '../../../decisions/fixtures/rollout-pools.ts';
import { aCheck, aTemplate } from '../../../model/pools.ts';
import { PROMETHEUS } from '../../../model/world/names.ts';
import { keyOf, SHOP, World } from '../../forged/world.ts';

const answer = (value: string): Answer => ({
  status: 200,
  body: JSON.stringify({ status: 'success', data: { resultType: 'scalar', result: [0, value] } }),
});

/** A pool whose rollout waits at its first step, and what looks at the check of that. */
async function given({ check = aCheck(), addresses = [PROMETHEUS] }: { check?: StepCheck; addresses?: string[] } = {}) {
  const world = new World();
  const pool = world.pool('web', { template: aTemplate({}), rollout: { steps: [aStep(1, { check })] } });
  const at = new Date().toISOString();
  const rollout = { startedAt: at, stepReachedAt: at, batches: 1, lastBatch: 1, step: 0, failures: [] };
  const status: PoolStatus = {
    replicas: 1,
    writes: 1,
    rollout: { ...rollout, revision: revisionOf(poolTemplate(pool.spec)) },
  };
  const write = (change: Partial<PoolStatus>): void =>
    void world.server.write(
      VirtualMachinePools,
      pool.metadata,
      (before) => ({ ...before, status: { ...status, ...change } }),
      'status',
    );
  write({});
  await world.start();
  const asked: PrometheusQuery[] = [];
  const look = (ask: () => Answer | Promise<Answer> = () => answer('1'), time = Date.now()): Promise<object> => {
    const activities = createCheckActivities({
      client: world.client.asClient,
      addresses,
      runQuery: async (one) => {
        asked.push(one);
        return ask();
      },
    });
    return new MockActivityEnvironment().run(() => activities.lookAtCheck(keyOf(pool), time)) as Promise<object>;
  };
  const seen = (): CheckStatus | undefined =>
    (world.server.get(VirtualMachinePools, pool.metadata) as { status?: PoolStatus }).status?.check;
  return { world, look, seen, asked, write };
}

test('the result of a look is recorded, with its time, after the earlier looks', async () => {
  const { look, seen, asked } = await given();
  const begin = Date.now();
  await look(() => answer('1'), begin);
  await look(() => answer('1'), begin + 30_000);
  expect(seen()).toMatchObject({ outcome: 'Holds', inARow: 2, message: '1 is at least 1' });
  expect(Date.parse(seen()!.lastAt) - Date.parse(seen()!.holdsSince!)).toBeGreaterThanOrEqual(29_000);
  await look(() => answer('0'), begin + 60_000);
  expect(seen()).toMatchObject({ outcome: 'Fails', inARow: 1 });
  expect(seen()!.holdsSince).toBeUndefined();
  expect(asked.map(({ address, query }) => ({ address, query }))).toEqual(
    Array.from({ length: 3 }, () => ({ address: PROMETHEUS, query: 'up' })),
  );
});

test.each<[string, () => never, string]>([
  [
    'is away',
    () => {
      throw Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
    },
    'http://prometheus does not answer: ECONNREFUSED: connect',
  ],
  [
    'is slow',
    () => {
      throw new DOMException('timeout', 'TimeoutError');
    },
    'http://prometheus does not answer: it takes longer than 10 s',
  ],
])('a Prometheus that %s tells nothing', async (_what, ask, message) => {
  const { look, seen } = await given();
  await look(ask);
  expect(seen()).toMatchObject({ outcome: 'Unknown', message });
});

test('an address that the workers may not ask is not asked', async () => {
  const { look, seen, asked } = await given({ addresses: ['http://prometheus.example'] });
  await look();
  expect(asked).toEqual([]);
  expect(seen()).toMatchObject({
    outcome: 'Unknown',
    message: 'http://prometheus is not among the addresses that the workers may ask (DROVER_CHECK_ADDRESSES)',
  });
});

test('a look records nothing if the rollout waits for something else by the time of the answer', async () => {
  const { look, seen, write, world } = await given();
  await look(() => {
    write({ writes: 2, rollout: { ...pausedOf(world), paused: { by: 'ann', at: new Date().toISOString() } } });
    return answer('1');
  });
  expect(seen()).toBeUndefined();
});

const pausedOf = (world: World): NonNullable<PoolStatus['rollout']> =>
  (world.server.all(VirtualMachinePools)[0] as { status?: PoolStatus }).status!.rollout!;

test('a look that ends late takes the place of no later one', async () => {
  const { look, seen } = await given();
  const begin = Date.now();
  await look(() => answer('0'), begin + 30_000);
  await look(() => answer('1'), begin);
  expect(seen()).toMatchObject({ outcome: 'Fails', inARow: 1 });
});

test('a status that is written meanwhile has the look recorded all the same', async () => {
  const { look, seen, world, write } = await given();
  let writes = 1;
  world.client.onWrite = () => {
    if (writes++ === 1) write({ writes });
  };
  await look();
  expect(seen()).toMatchObject({ outcome: 'Holds' });
});

test('a caller whose clock is far from the one of the API server is refused', async () => {
  const { look, seen } = await given();
  await expect(look(() => answer('1'), Date.now() + 3_600_000)).rejects.toThrow('differ by more than ten minutes');
  expect(seen()).toBeUndefined();
});

const withSecret = (): StepCheck => aCheck({ prometheus: { ...aCheck().prometheus!, secretName: 'prom' } });
const base64 = (text: string): string => Buffer.from(text).toString('base64');

test('a Secret of its type is used, and nothing of it is in the status', async () => {
  const { look, seen, asked, world } = await given({ check: withSecret() });
  const data = { token: base64('hush\n'), 'ca.crt': base64('a certificate') };
  world.server.create(Secrets, { metadata: { namespace: SHOP, name: 'prom' }, type: 'drover.dev/prometheus', data });
  await look(() => ({ status: 401, body: '{"error":"who are you?"}' }));
  expect(asked).toMatchObject([{ token: 'hush', ca: 'a certificate' }]);
  expect(seen()).toMatchObject({
    outcome: 'Unknown',
    message: 'Prometheus answers with the HTTP status 401: who are you?',
  });
  expect(JSON.stringify(world.server.all(VirtualMachinePools))).not.toContain('hush');
});

test('a Secret of another type, one that is missing, and one that may not be read are not used', async () => {
  const { look, seen, asked, world } = await given({ check: withSecret() });
  await look();
  expect(seen()?.message).toBe('Secret prom does not exist');
  world.server.create(Secrets, { metadata: { namespace: SHOP, name: 'prom' }, type: 'Opaque', data: { token: '' } });
  await look(undefined, Date.now() + 10_000);
  expect(seen()?.message).toBe('Secret prom is not of the type drover.dev/prometheus');
  const get = world.client.get.bind(world.client);
  world.client.get = (resource, key) => {
    if (resource === Secrets) throw new KubeError(403, 'Forbidden', 'no');
    return get(resource, key);
  };
  await look(undefined, Date.now() + 20_000);
  expect(seen()?.message).toBe('the worker may not read Secret prom: it needs the right to get it');
  expect(asked).toEqual([]);
});

const byJob = (fields: Partial<StepCheck> = {}): StepCheck => ({
  job: { template: { spec: { template: { spec: { restartPolicy: 'Never', containers: [] } } } } },
  ...fields,
});
const jobsOf = (world: World): Stored[] => world.server.all(Jobs);
/** Ends the only Job, as its controller does. */
const end = (world: World, type: 'Complete' | 'Failed', reason = 'BackoffLimitExceeded'): void => {
  const [{ metadata } = { metadata: { name: '' } }] = jobsOf(world);
  const conditions = [{ type, status: 'True', reason, message: 'so it is' }];
  world.server.write(Jobs, metadata, (before) => ({ ...before, status: { conditions } }), 'status');
};
/** Has the only Job end once it is made. */
const endOnceMade = (world: World, ...how: [type: 'Complete' | 'Failed', reason?: string]): void => {
  world.client.onWrite = (verb, resource) => {
    if (verb === 'create' && resource === Jobs) setTimeout(() => end(world, ...how), 10);
  };
};

test('a Job is made, and is found as it has ended', async () => {
  const { look, seen, world } = await given({ check: byJob() });
  endOnceMade(world, 'Complete');
  await look();
  const [job] = jobsOf(world);
  expect(seen()).toMatchObject({ outcome: 'Holds', run: 1, message: `Job ${job!.metadata.name} has succeeded` });
  expect(seen()!.job).toBeUndefined();
  expect(job).toMatchObject({
    spec: { activeDeadlineSeconds: 3600 },
    metadata: { ownerReferences: [{ name: 'web' }] },
  });
});

test.each([
  ['BackoffLimitExceeded', 'Fails'],
  ['DeadlineExceeded', 'Unknown'],
])('a Job that has failed by %s %s', async (reason, outcome) => {
  const { look, seen, world } = await given({ check: byJob() });
  endOnceMade(world, 'Failed', reason);
  await look();
  expect(seen()).toMatchObject({ outcome });
});

test('a worker that takes over finds the Job that another has made, and makes none', async () => {
  const { look, seen, world, write } = await given({ check: byJob() });
  endOnceMade(world, 'Complete');
  await look();
  const [job] = jobsOf(world);
  // The first worker was killed before it had recorded more than that it begins.
  const { lastAt } = seen()!;
  const { run, of } = seen()!;
  const begun = { run: run!, job: { name: job!.metadata.name } };
  write({ check: { of, startedAt: lastAt, lastAt, outcome: 'Unknown', message: '', inARow: 0, ...begun } });
  await look(undefined, Date.now() + 1_000);
  expect(jobsOf(world)).toHaveLength(1);
  expect(seen()).toMatchObject({ outcome: 'Holds', run: 1 });
});

test('a Job that was deleted before it had ended tells nothing, and is not made again', async () => {
  const { look, seen, world } = await given({ check: byJob() });
  world.client.onWrite = (verb, resource, name) => {
    if (verb === 'create' && resource === Jobs)
      setTimeout(() => world.server.delete(Jobs, { namespace: SHOP, name }), 10);
  };
  await look();
  expect(seen()).toMatchObject({ outcome: 'Unknown', run: 1 });
  expect(seen()!.message).toMatch(/^Job web-check-\w+ was deleted before it had ended$/);
  expect(jobsOf(world)).toEqual([]);
});

test('a Job that the API server refuses tells nothing, and why', async () => {
  const { look, seen, world } = await given({ check: byJob() });
  world.client.onWrite = (verb, resource) => {
    if (verb === 'create' && resource === Jobs) throw new KubeError(403, 'Forbidden', 'jobs.batch is forbidden: no');
  };
  await look();
  expect(seen()).toMatchObject({ outcome: 'Unknown' });
  expect(seen()!.message).toMatch(/^the worker can't run Job web-check-\w+: jobs.batch is forbidden: no$/);
});

test('a Job that nobody waits for any more is deleted, and one that has ended stays', async () => {
  for (const hasEnded of [false, true]) {
    const { look, seen, world, write } = await given({ check: byJob() });
    endOnceMade(world, 'Complete');
    await look();
    const { name, uid } = jobsOf(world)[0]!.metadata;
    if (!hasEnded)
      world.server.write(Jobs, { namespace: SHOP, name }, (before) => ({ ...before, status: {} }), 'status');
    const check = { ...seen()!, job: { name, uid } };
    write({ writes: 2, check, rollout: { ...pausedOf(world), step: 1 } });
    await look();
    expect(jobsOf(world)).toHaveLength(hasEnded ? 1 : 0);
    expect(seen()!.job).toBeUndefined();
  }
});
