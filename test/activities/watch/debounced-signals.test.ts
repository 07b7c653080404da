import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { notifyInterval, DebouncedSignals } from '../../../activities/watch/debounced-signals.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('the first signal is sent at once, more within the interval become one at its end, and none is sent when nothing happens', () => {
  const sent: string[] = [];
  const notifications = new DebouncedSignals(
    (key) => sent.push(key),
    () => 1_000,
  );
  notifications.for('a');
  expect(sent).toEqual(['a']);
  for (let time = 0; time < 50; time++) notifications.for('a');
  notifications.for('b');
  expect(sent).toEqual(['a', 'b']);
  vi.advanceTimersByTime(1_000);
  expect(sent).toEqual(['a', 'b', 'a']);
  vi.advanceTimersByTime(10_000);
  expect(sent).toHaveLength(3);
  notifications.for('a');
  expect(sent).toHaveLength(4);
});

test('a key that may wait longer holds up no other', () => {
  const sent: string[] = [];
  const notifications = new DebouncedSignals(
    (key) => sent.push(key),
    (_keys, key) => (key === 'rolling' ? 1_000 : 250),
  );
  for (const key of ['rolling', 'other', 'rolling', 'other']) notifications.for(key);
  vi.advanceTimersByTime(300);
  expect(sent).toEqual(['rolling', 'other', 'other']);
  vi.advanceTimersByTime(700);
  expect(sent).toEqual(['rolling', 'other', 'other', 'rolling']);
});

test('a stopped sender sends nothing more', () => {
  const sent: string[] = [];
  const notifications = new DebouncedSignals(
    (key) => sent.push(key),
    () => 1_000,
  );
  notifications.for('a');
  notifications.for('a');
  notifications.stop();
  vi.advanceTimersByTime(10_000);
  expect(sent).toEqual(['a']);
});

test('a signal that a user waits for is sent at once, together with what was waiting', () => {
  const sent: string[] = [];
  const notifications = new DebouncedSignals(
    (key) => sent.push(key),
    () => 1_000,
  );
  notifications.for('a');
  notifications.for('a');
  notifications.atOnce('a');
  expect(sent).toEqual(['a', 'a']);
  vi.advanceTimersByTime(10_000);
  expect(sent).toEqual(['a', 'a']);
});

test('few keys wait a quarter of a second, and many as long as all take at fifty a second', () => {
  expect([1, 12, 13, 50, 500, 10_000].map(notifyInterval)).toEqual([250, 250, 260, 1_000, 10_000, 200_000]);
});

/** How many signals are sent in ten seconds while each of `keys` keys changes all the time. */
function nudgesOf(keys: number): number {
  let sent = 0;
  const notifications = new DebouncedSignals(() => void sent++, notifyInterval);
  for (let time = 0; time < 10_000; time += 50) {
    for (let key = 0; key < keys; key++) notifications.for(String(key));
    vi.advanceTimersByTime(50);
  }
  notifications.stop();
  return sent;
}

test('a pool that changes alone is signalled four times a second, and hundreds no more than fifty times in all', () => {
  expect(nudgesOf(1)).toBeGreaterThanOrEqual(39);
  expect(nudgesOf(1)).toBeLessThanOrEqual(41);
  // The first signal of each key is sent at once.
  expect(nudgesOf(100)).toBeLessThanOrEqual(100 + 100 + 50 * 10);
  expect(nudgesOf(300)).toBeLessThanOrEqual(300 + 300 + 50 * 10);
});

test('the last signal for each of many keys is always sent', () => {
  const sent: string[] = [];
  const notifications = new DebouncedSignals((key) => sent.push(key), notifyInterval);
  const keys = Array.from({ length: 60 }, (_, key) => String(key));
  for (const key of keys) notifications.for(key);
  sent.length = 0;
  for (const key of keys) notifications.for(key);
  expect(sent).toEqual([]);
  vi.advanceTimersByTime(notifyInterval(keys.length));
  expect(sent.toSorted()).toEqual(keys.toSorted());
});

test('at most fifty of thousands of keys are on their way at once, and none is forgotten', async () => {
  const sent: string[] = [];
  const answers: (() => void)[] = [];
  const notifications = new DebouncedSignals(
    (key) => {
      sent.push(key);
      return new Promise<void>((resolve) => void answers.push(resolve));
    },
    () => 1_000,
  );
  for (let number = 0; number < 5_000; number++) notifications.for(`pool-${number}`);
  expect(sent).toHaveLength(50);
  notifications.atOnce('asked-for');
  expect(sent.at(-1)).toBe('asked-for');
  while (sent.length < 5_001) {
    const before = answers.splice(0);
    expect(before.length).toBeLessThanOrEqual(51);
    for (const answer of before) answer();
    await vi.advanceTimersByTimeAsync(0);
  }
  expect(new Set(sent).size).toBe(5_001);
});
