import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ServerClock } from '../../kubernetes/server-clock.ts';

const T = Date.parse('2026-01-01T00:00:00Z');

beforeEach(() => void vi.useFakeTimers({ now: T }));
afterEach(() => void vi.useRealTimers());

/** As a server writes it whose clock says this. */
const dateOf = (time: number): string => new Date(time).toUTCString();

/** Has a server that is this far ahead answer a call. */
function answer(clock: ServerClock, { ahead, there, back }: Record<'ahead' | 'there' | 'back', number>): void {
  const sentAt = Date.now();
  vi.advanceTimersByTime(there);
  const date = dateOf(Date.now() + ahead);
  vi.advanceTimersByTime(back);
  clock.observe(date, sentAt, Date.now());
}

const ms = (most: number) => fc.integer({ min: 0, max: most });
const call = fc.record({ there: ms(300), back: ms(300), pause: ms(5_000) });

test("a server's clock is known to a second and the time of a call, and never further away than it is", () => {
  fc.assert(
    fc.property(fc.integer({ min: -300_000, max: 300_000 }), fc.array(call, { minLength: 1 }), (ahead, calls) => {
      const clock = new ServerClock();
      for (const { pause, ...times } of calls) {
        answer(clock, { ahead, ...times });
        const known = clock.now() - Date.now();
        expect(Math.abs(known - ahead)).toBeLessThanOrEqual(1_600);
        expect(Math.abs(known)).toBeLessThanOrEqual(Math.abs(ahead));
        vi.advanceTimersByTime(pause);
      }
    }),
  );
});

test('many answers give the clock to milliseconds', () => {
  const clock = new ServerClock();
  for (let calls = 0; calls < 100; calls++) {
    answer(clock, { ahead: 60_123, there: 3, back: 4 });
    vi.advanceTimersByTime(137);
  }
  expect(Math.abs(clock.now() - Date.now() - 60_123)).toBeLessThanOrEqual(30);
});

test('a clock that is set anew is followed with the next answer', () => {
  const clock = new ServerClock();
  for (const ahead of [60_000, -60_000, 0]) {
    answer(clock, { ahead, there: 1, back: 1 });
    expect(Math.abs(clock.now() - Date.now() - ahead)).toBeLessThanOrEqual(1_002);
  }
});

test("an answer without a date leaves this machine's clock as it is", () => {
  const clock = new ServerClock();
  for (const date of [undefined, '', 'soon', ['Thu, 01 Jan 2026 00:00:00 GMT']]) clock.observe(date, T, T);
  expect(clock.now()).toBe(T);
});
