import { expect, onTestFinished, test as sequential, vi } from 'vitest';
import { slowStart } from '../../../activities/lib/slow-start.ts';
import { KubeError, KubeUnreachable } from '../../../kubernetes/errors.ts';

/** Most of these tests wait, as a server asks them to. */
const test = sequential.concurrent;

const items = Array.from({ length: 100 }, (_, index) => index);
const signal = new AbortController().signal;
const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('each item begins once, with one call at first and never with more than allowed at once', async () => {
  let inFlight = 0;
  const widths: number[] = [];
  const done: number[] = [];
  await slowStart(
    items,
    async (item) => {
      widths.push(++inFlight);
      await tick();
      inFlight--;
      done.push(item);
    },
    { most: 8, signal },
  );
  expect(done.toSorted((a, b) => a - b)).toEqual(items);
  expect(widths[0]).toBe(1);
  expect(Math.max(...widths)).toBe(8);
});

test('a refusal ends the round: nothing more begins, what is in progress is awaited, and the refusal is thrown', async () => {
  const quota = new KubeError(403, 'Forbidden', 'exceeded quota');
  const begun: number[] = [];
  const ended: number[] = [];
  const burst = slowStart(
    items,
    async (item) => {
      begun.push(item);
      await tick();
      ended.push(item);
      if (item >= 7) throw quota;
    },
    { most: 32, signal },
  );
  await expect(burst).rejects.toBe(quota);
  expect(ended).toEqual(begun);
  // Seven calls that succeeded, the first that failed, and at most seven more in flight.
  expect(begun.length).toBeLessThan(16);
});

test.each([
  ['a busy server', new KubeError(429, 'TooManyRequests', 'slow down', 1)],
  ['a broken server', new KubeError(500, 'InternalError', 'oh', 1)],
  ['no answer', new KubeUnreachable('no answer')],
])('%s: the item is tried again, and the others once', async (_what, fault) => {
  const tries = new Map<number, number>();
  await slowStart(
    items.slice(0, 20),
    async (item) => {
      tries.set(item, (tries.get(item) ?? 0) + 1);
      if (item % 10 === 0 && tries.get(item)! < 3) throw fault;
    },
    { most: 8, signal },
  );
  expect(tries.size).toBe(20);
  for (const [item, count] of tries) expect(count).toBe(item % 10 === 0 ? 3 : 1);
});

test('a fault halves the number of calls at once', async () => {
  const widths: number[] = [];
  let inFlight = 0;
  let failed = false;
  await slowStart(
    items,
    async (item) => {
      widths.push(++inFlight);
      await tick();
      inFlight--;
      if (item < 40 || failed) return;
      failed = true;
      widths.length = 0;
      throw new KubeError(503, 'ServiceUnavailable', 'busy', 500);
    },
    { most: 8, signal },
  );
  // What was in flight ends during the pause; then it continues with half as many calls.
  expect(Math.max(...widths.slice(0, 4))).toBeLessThanOrEqual(4);
});

test('a round waits as long as the server asked for', async () => {
  let failedAt = 0;
  let triedAt = 0;
  await slowStart(
    [1],
    async () => {
      if (failedAt === 0) {
        failedAt = Date.now();
        throw new KubeError(429, 'TooManyRequests', 'wait', 300);
      }
      triedAt = Date.now();
    },
    { most: 4, signal },
  );
  expect(triedAt - failedAt).toBeGreaterThanOrEqual(299);
});

test('a lasting error is thrown, so that Temporal reports and retries it', async () => {
  let calls = 0;
  const fails = async (): Promise<never> => {
    calls++;
    throw new KubeError(500, 'InternalError', 'broken', 1);
  };
  await expect(slowStart([1], fails, { most: 4, signal })).rejects.toThrow('broken');
  expect(calls).toBe(5);
});

test('a cancelled round begins nothing more', async () => {
  const stop = new AbortController();
  let begun = 0;
  const burst = slowStart(
    items,
    async () => {
      if (++begun === 3) stop.abort(new Error('cancelled'));
      await tick();
    },
    { most: 2, signal: stop.signal },
  );
  await expect(burst).rejects.toThrow('cancelled');
  expect(begun).toBeLessThan(6);
});

sequential(
  'a clock that is put back makes no pause longer',
  async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    let tries = 0;
    await slowStart(
      [1],
      async () => {
        if (++tries > 1) return;
        // The pause is planned as soon as this has failed.
        setTimeout(() => vi.setSystemTime(Date.now() - 3_600_000), 50);
        throw new KubeUnreachable('the server is away');
      },
      { most: 1, signal },
    );
    expect(tries).toBe(2);
  },
  10_000,
);
