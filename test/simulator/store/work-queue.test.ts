import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { KubeError } from '../../../kubernetes/errors.ts';
import { WorkQueue } from '../../../simulator/store/work-queue.ts';
import { eventually } from '../../wait-for.ts';

/** Returns a queue that records its work. */
function queueOf(work: (key: string, times: number) => Promise<number | undefined>, concurrency = 2) {
  const done: string[] = [];
  const errors: string[] = [];
  const queue = new WorkQueue({
    concurrency,
    work: async (key) => {
      done.push(key);
      return await work(key, done.filter((other) => other === key).length);
    },
    onError: (_key, error) => errors.push(error.message),
  });
  queue.start();
  return { queue, done, errors };
}

test('a key that is added before the start waits for it', async () => {
  const done: string[] = [];
  const note = async (key: string): Promise<undefined> => void done.push(key);
  const queue = new WorkQueue({ concurrency: 1, work: note, onError: () => {} });
  queue.add('a');
  await sleep(5);
  expect(done).toEqual([]);
  queue.start();
  await eventually(() => expect(done).toEqual(['a']));
});

test('a key that is added again while it is worked on is worked on once more, never twice at once', async () => {
  let working = 0;
  let most = 0;
  const { queue, done } = queueOf(async () => {
    most = Math.max(most, ++working);
    await sleep(10);
    working--;
    return undefined;
  });
  queue.add('a');
  for (let n = 0; n < 5; n++) queue.add('a');
  await eventually(() => expect(done).toEqual(['a', 'a']));
  await queue.stop();
  expect(most).toBe(1);
});

test('at most as many keys are worked on at once as allowed', async () => {
  let working = 0;
  let most = 0;
  const { queue, done } = queueOf(async () => {
    most = Math.max(most, ++working);
    await sleep(2);
    working--;
    return undefined;
  }, 3);
  for (let n = 0; n < 20; n++) queue.add(`key-${n}`);
  await eventually(() => expect(done).toHaveLength(20));
  expect(most).toBe(3);
});

test('a key that asks for another look gets it, and a failed key is tried again', async () => {
  const { queue, done, errors } = queueOf(async (key, times) => {
    if (key === 'failing' && times === 1) throw new Error('once');
    return key === 'again' && times === 1 ? 1 : undefined;
  });
  queue.add('again');
  queue.add('failing');
  await eventually(() => expect([...done].sort()).toEqual(['again', 'again', 'failing', 'failing']));
  expect(errors).toEqual(['once']);
});

test('a conflict is tried again and not reported', async () => {
  const { queue, done, errors } = queueOf(async (_key, times) => {
    if (times === 1) throw new KubeError(409, 'Conflict', 'the object has been modified');
    return undefined;
  });
  queue.add('a');
  await eventually(() => expect(done).toEqual(['a', 'a']));
  expect(errors).toEqual([]);
});

test('a stopped queue waits for the work in progress and begins no more', async () => {
  const finish = Promise.withResolvers<number>();
  const { queue, done } = queueOf(() => finish.promise, 1);
  queue.add('a');
  queue.add('b');
  const stopped = queue.stop();
  finish.resolve(0);
  await stopped;
  queue.add('c');
  await sleep(10);
  expect(done).toEqual(['a']);
});
