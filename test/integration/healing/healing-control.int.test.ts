import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Autohealing } from '../../../api/pool/pool.ts';
import { VirtualMachinePools } from '../../../api/resources.ts';
import { userOf } from '../../../clients/session/requester.ts';
import { ignoreNotFound } from '../../../kubernetes/errors.ts';
import { sample } from '../../soak.ts';
import { aFleet, until } from '../fleet.ts';
import { revisionIn } from '../rollout/rollouts.ts';
import { HealedPool, QUICK, withDisk, withFastStarts } from './healings.ts';

const fleet = aFleet();
withFastStarts(fleet);

/** A back-off that only a user ends. */
const SLOW: Autohealing = { ...QUICK, maxUnhealthy: '100%', backoff: { initial: '1h', jitter: 0 } };

/** Returns a pool whose VM of this number has been deleted and is in back-off. */
async function waiting(number: number, spec: Parameters<typeof HealedPool.ready>[1] = {}): Promise<HealedPool> {
  const pool = await HealedPool.ready(fleet(), { replicas: 3, autohealing: SLOW, ...spec });
  await pool.break(number);
  await pool.untilCycle(number, { phase: 'Waiting', nextAt: expect.any(String) });
  return pool;
}
const gone = (pool: HealedPool, number: number) => async (): Promise<void> =>
  expect(await ignoreNotFound(pool.pool.vm(`web-${number}`))).toBeUndefined();

/** Resolves once the first attempt to heal this VM has ended in some way. */
const closed = (pool: HealedPool, number: number): Promise<void> =>
  until(async () => expect((await pool.attempt(number).describe()).status.name).not.toBe('RUNNING'));

test('a pause by a user holds unhealthy and waiting VMs, and names the user; resume lets both continue', async () => {
  const by = await userOf(fleet().kube);
  const pool = await HealedPool.ready(fleet(), {
    replicas: 4,
    // As long as a busy machine may take to the end of the pause.
    autohealing: { ...SLOW, backoff: { initial: '15s', jitter: 0 } },
  });
  await pool.break(1);
  await pool.untilCycle(1, { phase: 'Waiting', nextAt: expect.any(String) as string });
  const [cycle] = (await pool.healing()).cycles;
  await pool.pool.heal({ action: 'pause' }, { reason: 'the storage is being moved' });
  await until(async () =>
    expect(await pool.pool.condition('HealingSuspended')).toMatchObject({
      status: 'True',
      reason: 'PausedByUser',
      message: `by ${by}: the storage is being moved`,
    }),
  );
  const before = await pool.uid(2);
  await pool.break(2);
  await until(async () => expect((await pool.pool.condition('Healing'))?.message).toContain('web-2 is unhealthy'));
  await sleep(Math.max(Date.parse(cycle!.nextAt!) - Date.now(), 0) + 500);
  expect(await pool.uid(2)).toBe(before);
  await gone(pool, 1)();
  expect((await pool.healing()).paused).toMatchObject({ by });
  await pool.pool.heal({ action: 'resume' });
  await pool.replaced(2, before);
  await pool.untilFinished(1, { end: 'Healed' });
  await pool.untilFinished(2, { end: 'Healed' });
});

test('now ends a delay, skip ends a cycle, and each names the requester', async () => {
  const pool = await waiting(1);
  await gone(pool, 1)();
  await pool.pool.heal({ action: 'now', vms: ['web-1'] });
  await pool.untilFinished(1, { end: 'Healed', attempts: 1 });

  // drover forgets the skip as soon as the replacement is available; delay that.
  await pool.pool.patch({ rollout: { minReadySeconds: 60 } });
  await pool.break(2);
  await pool.untilCycle(2, { phase: 'Waiting' });
  await pool.pool.heal({ action: 'skip', vms: ['web-2'] }, { reason: 'it is known' });
  await pool.untilFinished(2, { end: 'Skipped', message: `skipped by ${await userOf(fleet().kube)} (it is known)` });
  // The pool fills the skipped VM's number itself.
  await pool.pool.until({ readyReplicas: 3 });
});

test.each(sample(['Removing', 'Waiting', 'Provisioning'] as const))(
  'a pool that is deleted while a cycle is %s goes, and the cycle ends',
  async (phase) => {
    const pool = await HealedPool.ready(fleet(), { replicas: 2, autohealing: SLOW });
    const letGo = phase === 'Removing' ? await pool.holdBack(1) : undefined;
    await pool.break(1);
    await pool.untilCycle(1, { phase: phase === 'Provisioning' ? 'Waiting' : phase });
    if (phase === 'Provisioning') {
      // The replacement must be ready for an hour, so that the phase lasts.
      await pool.pool.patch({ rollout: { minReadySeconds: 3600 } });
      await pool.pool.until({});
      await pool.pool.heal({ action: 'now', vms: ['web-1'] });
      await pool.untilCycle(1, { phase });
    }
    await fleet().kube.delete(VirtualMachinePools, { namespace: pool.pool.namespace, name: 'web' });
    await closed(pool, 1);
    await letGo?.();
    await until(async () => expect(await fleet().pool(pool.pool.namespace, 'web')).toBeUndefined());
    await until(async () => expect((await pool.pool.vms()).size).toBe(0));
    await pool.pool.workflow.result();
  },
);

test("a pool's workflow that a user ends is started again, takes its cycles up, and keeps their delays", async () => {
  const pool = await waiting(1);
  const lives = await pool.lives();
  await pool.pool.workflow.terminate('by a person');
  await fleet().kube.patch(VirtualMachinePools, { namespace: pool.pool.namespace, name: 'web' }, 'merge', {
    spec: { revisionHistoryLimit: 9 },
  });
  await pool.pool.until({});
  await sleep(1_500);
  expect(lives.of('vm', 'web-1').length).toBe(0);
  expect((await pool.healing()).cycles).toMatchObject([{ vm: 'web-1', phase: 'Waiting', attempt: 1 }]);
  await pool.pool.heal({ action: 'now', vms: ['web-1'] });
  await pool.untilFinished(1, { end: 'Healed', attempts: 1 });
  expect(lives.of('vm', 'web-1').length).toBe(1);
});

test.each(sample(['Removing', 'Waiting'] as const))(
  'an attempt that a user terminates while its cycle is %s is begun again: the VM comes back once, and runs well',
  async (phase) => {
    const pool = await HealedPool.ready(fleet(), {
      replicas: 2,
      autohealing: phase === 'Removing' ? { ...SLOW, backoff: { initial: '100ms', jitter: 0 } } : SLOW,
    });
    const lives = await pool.lives();
    const letGo = phase === 'Removing' ? await pool.holdBack(1) : undefined;
    await pool.break(1);
    await pool.untilCycle(1, phase === 'Removing' ? { phase } : { phase, nextAt: expect.any(String) as string });
    const before = await pool.healing();
    // Its cycle is on record before it begins.
    let runId = '';
    await until(async () => void ({ runId } = await pool.attempt(1).describe()));
    await pool.attempt(1).terminate('by a person');
    await until(async () => expect((await pool.attempt(1).describe()).runId).not.toBe(runId));
    await letGo?.();
    if (phase === 'Waiting') {
      // It waits for the rest of its delay.
      expect(await pool.healing()).toEqual(before);
      expect(lives.of('vm', 'web-1').filter(({ goneAt }) => goneAt === null)).toEqual([]);
      await pool.pool.heal({ action: 'now', vms: ['web-1'] });
    }
    await pool.untilFinished(1, { end: 'Healed', attempts: 1 });
    await pool.pool.until({ readyReplicas: 2 });
    lives.expectFresh(1, 2);
  },
);

test('healing and a rollout run concurrently: no VM is in both, and a replaced VM gets the verified revision', async () => {
  const pool = await HealedPool.ready(fleet(), {
    replicas: 4,
    maxUnavailable: 1,
    autohealing: { ...SLOW, maxUnhealthy: '100%' },
  });
  const first = (await pool.pool.status()).currentRevision!;
  await pool.break(4);
  await pool.untilCycle(4, { phase: 'Waiting' });
  // The update never becomes ready, and may use only what the missing VM leaves of the budget.
  await pool.pool.change(withDisk({ cores: 2, annotations: { 'sim.drover.dev/never-ready': 'true' } }), {
    rollout: { progressDeadlineSeconds: 2 },
    maxUnavailable: 2,
  });
  await pool.pool.untilSaid({ Progressing: 'Failed' });
  expect((await pool.pool.batches()).flatMap(({ vms }) => vms.map(({ name }) => name))).not.toContain('web-4');
  await pool.pool.heal({ action: 'now', vms: ['web-4'] });
  await pool.untilFinished(4, { end: 'Healed' });
  expect(revisionIn(await pool.pool.vm('web-4'))).toBe(first);
});
