import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { soakTest } from '../../soak.ts';
import { aFleet, until } from '../fleet.ts';
import { HealedPool, QUICK, withDisk, withFastStarts } from './healings.ts';

const fleet = aFleet();
withFastStarts(fleet);

/** Breaks the VMs while healing is paused, so that it sees all of them unhealthy before it may begin. */
async function breakAtOnce(healed: HealedPool, numbers: number[]): Promise<void> {
  const { pool } = healed;
  await pool.heal({ action: 'pause' });
  for (const number of numbers) await healed.break(number);
  await until(async () => {
    const { notReplaced = [] } = await healed.healing();
    expect(notReplaced.map(({ vm }) => vm)).toEqual(expect.arrayContaining(numbers.map((number) => `web-${number}`)));
  });
  await pool.heal({ action: 'resume' });
}

test('a pool with too many unhealthy VMs at once replaces none, and says so; it continues when there are fewer', async () => {
  const pool = await HealedPool.ready(fleet(), { replicas: 5 });
  const lives = await pool.lives();
  // Two unhealthy VMs alone would be healed.
  await breakAtOnce(pool, [1, 2, 3]);
  await until(async () =>
    expect(await pool.pool.condition('HealingSuspended')).toMatchObject({ status: 'True', reason: 'TooManyUnhealthy' }),
  );
  await until(async () => expect((await pool.pool.events()).map(({ reason }) => reason)).toContain('HealingSuspended'));
  await sleep(1_500);
  for (const number of [1, 2, 3]) lives.expectFresh(number, 1);
  await pool.pool.patchVm('web-3', {
    spec: { template: { metadata: { annotations: { 'sim.drover.dev/fail-starts': '0' } } } },
  });
  await pool.untilFinished(1, { end: 'Healed' });
  await pool.untilFinished(2, { end: 'Healed' });
  lives.expectFresh(1, 2);
  lives.expectFresh(2, 2);
  lives.expectFresh(3, 1);
  await pool.pool.untilSaid({ HealingSuspended: 'NotSuspended' });
});

soakTest('two unhealthy VMs at once in a small pool are replaced', async () => {
  const pool = await HealedPool.ready(fleet(), { replicas: 3 });
  const lives = await pool.lives();
  await breakAtOnce(pool, [1, 2]);
  for (const number of [1, 2]) await pool.untilFinished(number, { end: 'Healed' });
  for (const [number, count] of [
    [1, 2],
    [2, 2],
    [3, 1],
  ] as const)
    lives.expectFresh(number, count);
});

soakTest('no more are healed at once than maxConcurrent', async () => {
  const pool = await HealedPool.ready(fleet(), {
    replicas: 4,
    autohealing: { ...QUICK, maxConcurrent: 1, maxUnhealthy: '100%' },
  });
  const lives = await pool.lives();
  for (const number of [1, 2, 3]) await pool.break(number);
  for (const number of [1, 2, 3]) await pool.untilFinished(number, { end: 'Healed' });
  const spans = [1, 2, 3].map((number) => {
    lives.expectFresh(number, 2);
    const [before, after] = lives.of('vm', `web-${number}`);
    return { from: before!.goneAt!, to: after!.bornAt };
  });
  const inOrder = spans.toSorted((a, b) => (a.from < b.from ? -1 : 1));
  for (const [index, { from }] of inOrder.entries())
    if (index > 0) expect(from).toBeGreaterThan(inOrder[index - 1]!.to);
});

soakTest('only one VM is tried in a pool whose VMs have never run', async () => {
  const template = withDisk({ annotations: { 'sim.drover.dev/fail-starts': 'always' } });
  const pool = await HealedPool.made(fleet(), { replicas: 4, template });
  const lives = await pool.lives();
  // Any VM may be the first that is seen to have failed twice.
  await until(async () => expect((await pool.healing()).cycles[0]?.attempt).toBeGreaterThanOrEqual(3));
  expect([1, 2, 3, 4].filter((number) => lives.of('vm', `web-${number}`).length > 1)).toHaveLength(1);
  expect((await pool.pool.condition('Healing'))?.message).toContain('no VM of the pool has run yet');
});

soakTest('a new revision that never comes up trips the rollout, and no VM is replaced for it', async () => {
  const pool = await HealedPool.ready(fleet(), {
    replicas: 4,
    maxUnavailable: 1,
    rollout: { progressDeadlineSeconds: 3 },
  });
  const lives = await pool.lives();
  await pool.pool.change(withDisk({ cores: 2, annotations: { 'sim.drover.dev/fail-starts': 'always' } }));
  await pool.pool.untilSaid({ Progressing: 'Failed' });
  // The broken VM then returns to the proven revision.
  await pool.pool.until({ readyReplicas: 4, healing: expect.objectContaining({ cycles: [] }) as object });
  const counts = [1, 2, 3, 4].map((number) => lives.of('vm', `web-${number}`).length);
  expect(counts.toSorted((a, b) => a - b)).toEqual([1, 1, 1, 2]);
});

soakTest('a VM gets its own number again, though lower ones are free', async () => {
  const selectionPolicy = { basePolicy: 'Oldest' as const };
  const pool = await HealedPool.ready(fleet(), { replicas: 2, scaleInStrategy: { proactive: { selectionPolicy } } });
  // VMs created together may differ in age, as the second may change in between; hence two steps.
  await pool.pool.patch({ replicas: 4 });
  await pool.pool.until({ replicas: 4, readyReplicas: 4 });
  await pool.pool.patch({ replicas: 2 });
  await until(async () => expect(await fleet().vmNames(pool.pool.namespace, 'web')).toEqual(['web-3', 'web-4']));
  const before = await pool.uid(4);
  await pool.break(4);
  await pool.replaced(4, before);
  await pool.untilFinished(4, { end: 'Healed', attempts: 1 });
  expect(await fleet().vmNames(pool.pool.namespace, 'web')).toEqual(['web-3', 'web-4']);
});
