import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { aFleet, until } from '../fleet.ts';
import { HealedPool, withFastStarts } from './healings.ts';

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
