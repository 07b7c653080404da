import { expect, test } from 'vitest';
import { aFleet, namesUpTo, until } from '../fleet.ts';
import { change, label, readingPool } from './configuration.ts';

const fleet = aFleet();
const USER = { kind: 'Secret', name: 'user' } as const;
const VMS = 6;

test('a worker that is killed in the middle restarts each VM once, and none for a change of labels', async () => {
  const first = await fleet().worker();
  const pool = await readingPool(fleet(), { replicas: VMS, maxUnavailable: 2 });
  const watch = await pool.watched();
  await label(fleet(), pool.namespace, USER, 'v2');
  await until(async () => expect((await pool.status()).contents).toMatchObject([USER]));
  await first.kill();
  // It has not seen what the Secret held before.
  const second = await fleet().startWorker();
  await pool.patch({ revisionHistoryLimit: 3 });
  await pool.untilSaid({ UpToDate: 'UpToDate' });
  const restarts = (): number[] => namesUpTo('web', VMS).map((name) => watch.log.restartsOf(name).length);
  await watch.caughtUp();
  expect(restarts()).toEqual(Array.from({ length: VMS }, () => 0));
  await change(fleet(), pool.namespace, USER, 'second');
  await until(async () => expect(Math.max(...restarts())).toBe(1));
  await second.kill();
  expect(Math.min(...restarts())).toBe(0);
  await fleet().startWorker();
  await until(async () => expect(restarts()).toEqual(Array.from({ length: VMS }, () => 1)));
  await pool.untilSaid({ UpToDate: 'UpToDate' });
  await watch.caughtUp();
  expect(restarts()).toEqual(Array.from({ length: VMS }, () => 1));
  expect(watch.log.peak({ replicas: VMS }).unavailable).toBeLessThanOrEqual(2);
});
