import '../../own-modules.ts';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { eachInTurn } from '../../../activities/watch/each-in-turn.ts';

const keys = Array.from({ length: 1_000 }, (_, number) => `default/web-${number}`);

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

vi.mock('node:timers/promises', () => ({
  setTimeout: (ms: number) => new Promise((resolve) => void setTimeout(resolve, ms)),
}));

test('keys have their turns as far apart as each asks for, and none once the watch has ended', async () => {
  const ended = new AbortController();
  const acted: string[] = [];
  void eachInTurn(keys, (key) => 20 * Math.min(acted.push(key), 1), ended.signal);
  expect(acted).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(acted).toEqual(keys.slice(0, 51));
  ended.abort();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(acted).toHaveLength(51);
});
