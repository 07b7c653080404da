import { expect, test } from 'vitest';
import { DO_NOT_DISRUPT_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import { Secrets } from '../../../api/resources.ts';
import { testOneOf } from '../../soak.ts';
import { TestDrain } from '../drain/drains.ts';
import { aFleet, until } from '../fleet.ts';
import { TestVms } from '../power/vms.ts';
import { aProxiedWorker } from '../proxied-worker.ts';
import { templateOf } from '../rollout/rollouts.ts';
import { aSecond, change, create, label, readingPool, volumes } from './configuration.ts';

const fleet = aFleet({ workers: 0 });
const meet = aProxiedWorker(fleet);
const USER = { kind: 'Secret', name: 'user' } as const;
const SETTINGS = { kind: 'ConfigMap', name: 'settings' } as const;

test('a change of content restarts the VMs that read it, within the budget, and a change of labels restarts none', async () => {
  const pool = await readingPool(fleet(), { replicas: 5 });
  const { namespace } = pool;
  await pool.patchVm('web-4', { spec: { runStrategy: 'Halted' } });
  await pool.patchVm('web-5', { metadata: { annotations: { [DO_NOT_DISRUPT_ANNOTATION]: 'true' } } });
  await until(async () => expect(Object.keys(await pool.vmiUids())).toHaveLength(4));
  const before = await pool.vmiUids();
  await label(fleet(), namespace, USER, 'v2');
  // The worker has taken notice.
  await until(async () => expect((await pool.status()).contents).toMatchObject([USER]));
  await aSecond();
  const watch = await pool.watched();
  await change(fleet(), namespace, USER, 'second');
  const { conditions } = await pool.untilSaid({ UpToDate: 'RollingOut' });
  expect(conditions?.find(({ type }) => type === 'Progressing')?.message).toContain('Secret user changed');
  await pool.untilSaid({ UpToDate: 'UpToDate' });
  await watch.caughtUp();
  expect(Object.fromEntries(watch.log.names().map((name) => [name, watch.log.restartsOf(name).length]))).toMatchObject({
    'web-1': 1,
    'web-2': 1,
    'web-3': 1,
    'web-5': 0,
  });
  expect(watch.log.peak({ replicas: 4 }).unavailable).toBeLessThanOrEqual(1);
  const after = await pool.vmiUids();
  expect(after).not.toHaveProperty('web-4');
  expect(after['web-5']).toBe(before['web-5']);
  expect((await pool.status()).rollout).toMatchObject({ changed: { what: 'Secret user' }, failures: [] });
});

testOneOf({
  'a change that is taken back restarts only the VMs that have started in between': async () => {
    const pool = await readingPool(fleet());
    const before = await pool.vmiUids();
    await pool.patch({ paused: true });
    await change(fleet(), pool.namespace, SETTINGS, 'second');
    await pool.untilSaid({ Progressing: 'Paused' });
    await aSecond();
    await pool.power('web-2', 'restart');
    await until(async () => expect((await pool.vmi('web-2')).metadata.uid).not.toBe(before['web-2']));
    const between = await pool.vmiUids();
    await aSecond();
    await change(fleet(), pool.namespace, SETTINGS, 'first');
    await until(async () => expect((await pool.status()).contents?.[0]?.same).toHaveLength(1));
    await pool.patch({ paused: false });
    await pool.untilSaid({ UpToDate: 'UpToDate' });
    expect(await pool.vmiUids()).toEqual({ ...before, 'web-2': expect.any(String) as string });
    expect((await pool.vmiUids())['web-2']).not.toBe(between['web-2']);
  },
  "a change of one VM's own Secret restarts that VM alone": async () => {
    const pool = await readingPool(fleet(), { replicas: 2, nameGeneration: { appendPostfixToSecretReferences: true } });
    const before = await pool.vmiUids();
    // Deleted and made anew: what counts is what it holds.
    await fleet().kube.delete(Secrets, { namespace: pool.namespace, name: 'user-2' });
    await create(fleet(), pool.namespace, { kind: 'Secret', name: 'user-2' }, 'first');
    await change(fleet(), pool.namespace, { kind: 'Secret', name: 'user-1' }, 'second');
    await until(async () => expect((await pool.vmiUids())['web-1']).not.toBe(before['web-1']));
    await pool.untilSaid({ UpToDate: 'UpToDate' });
    expect((await pool.vmiUids())['web-2']).toBe(before['web-2']);
  },
});

testOneOf({
  'a VM is not restarted without what it reads: it runs on, others are updated, and the status says why': async () => {
    const pool = await readingPool(fleet(), { replicas: 2, nameGeneration: { appendPostfixToSecretReferences: true } });
    const { namespace } = pool;
    const before = await pool.vmiUids();
    await fleet().kube.delete(Secrets, { namespace, name: 'user-1' });
    await pool.change(templateOf({ memory: '96Mi', vmi: { volumes } }));
    await until(async () =>
      expect(await pool.condition('Progressing')).toMatchObject({
        reason: 'RollingOut',
        message: expect.stringMatching(/1 of 2 VMs updated .*; web-1: Secret user-1 is missing/) as string,
      }),
    );
    expect(await pool.vmiUids()).toMatchObject({ 'web-1': before['web-1'] });
    const running = { readyReplicas: 2, unavailableReplicas: 0, rollout: { failures: [] } };
    await until(async () => expect(await pool.status()).toMatchObject(running));
    await create(fleet(), namespace, { kind: 'Secret', name: 'user-1' }, 'second');
    await pool.untilSaid({ UpToDate: 'UpToDate', Progressing: 'Complete' });
    expect((await pool.vmiUids())['web-1']).not.toBe(before['web-1']);
  },
  'a restart by a user or a drain takes no VM down that lacks what it reads': async () => {
    const pool = await readingPool(fleet(), {
      replicas: 2,
      nameGeneration: { appendPostfixToSecretReferences: true },
      drain: { method: 'Restart' },
    });
    const { namespace } = pool;
    const before = await pool.vmiUids();
    await fleet().kube.delete(Secrets, { namespace, name: 'user-1' });
    const restart = await (await TestVms.in(fleet(), namespace)).restart({ maxFailures: 1 });
    const why = 'not restarted: Secret user-1 is missing';
    expect(await restart.result()).toMatchObject({
      phase: 'Failed',
      done: 1,
      failed: [{ vm: `${namespace}/web-1`, message: why }],
    });
    expect((await pool.vmiUids())['web-2']).not.toBe(before['web-2']);
    await (await TestDrain.in(fleet(), namespace)).evict('web-1');
    await until(async () =>
      expect(await pool.condition('Draining')).toMatchObject({ message: expect.stringContaining(why) as string }),
    );
    expect((await pool.vmiUids())['web-1']).toBe(before['web-1']);
    await create(fleet(), namespace, { kind: 'Secret', name: 'user-1' }, 'first');
    await until(async () => expect((await pool.vmiUids())['web-1']).not.toBe(before['web-1']));
  },
});

test('a worker that may not see them reports what it lacks, and does all else', async () => {
  meet((_method, path) => (/\/(secrets|configmaps)/.test(path) ? { status: 403 } : 'pass'));
  const pool = await readingPool(fleet());
  await until(async () =>
    expect(await pool.condition('ConfigurationNotWatched')).toMatchObject({
      status: 'True',
      reason: 'Forbidden',
      message: expect.stringContaining(
        `may not list and watch secrets and configmaps in namespace ${pool.namespace}, which the component deploy/components/references permits`,
      ) as string,
    }),
  );
  const before = await pool.vmiUids();
  await change(fleet(), pool.namespace, USER, 'second');
  meet(() => 'pass');
  // With the right, it does what it could not do before.
  await until(async () => expect((await pool.vmiUids())['web-1']).not.toBe(before['web-1']));
  await pool.untilSaid({ UpToDate: 'UpToDate' });
  expect(await pool.condition('ConfigurationNotWatched')).toBeUndefined();
});
