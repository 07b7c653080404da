import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { durationMs } from '../../../api/lib/duration.ts';
import { DEFAULT_HEALING_BACKOFF } from '../../../api/rules/pool-defaults.ts';
import { expiresAt, healingBackoffMs } from '../../../decisions/healing/backoff.ts';

const HOUR = 3_600_000;
const seconds = (attempt: number, backoff = DEFAULT_HEALING_BACKOFF, random = 0): number =>
  healingBackoffMs(backoff, attempt, random) / 1000;

describe('the delay before a replacement', () => {
  test('doubles from 10 seconds to 10 minutes', () => {
    expect([1, 2, 3, 4, 5, 6, 7, 8, 1_000_000].map((attempt) => seconds(attempt))).toEqual([
      10, 20, 40, 80, 160, 320, 600, 600, 600,
    ]);
  });

  test('is spread by jitter', () => {
    expect([seconds(1, undefined, 0.5), seconds(7, undefined, 0.999)]).toEqual([10.5, 659.94]);
  });

  test('is constant with a factor of 1, and never longer than the maximum', () => {
    expect(seconds(99, { initial: '5s', factor: 1, max: '1m', jitter: 0 })).toBe(5);
    expect(seconds(1, { initial: '5m', factor: 2, max: '1m', jitter: 0 })).toBe(60);
  });

  test('never shrinks from one attempt to the next, and stays within its limits', () => {
    const anyBackoff = fc.record({
      initial: fc.constantFrom('1ms', '1s', '10s', '1h'),
      factor: fc.double({ min: 1, max: 10, noNaN: true }),
      max: fc.constantFrom('1s', '10m', '168h'),
      jitter: fc.double({ min: 0, max: 1, noNaN: true }),
    });
    fc.assert(
      fc.property(
        anyBackoff,
        fc.integer({ min: 1, max: 100_000 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (backoff, attempt, random) => {
          const delay = healingBackoffMs(backoff, attempt, random);
          const least = Math.min(durationMs(backoff.initial), durationMs(backoff.max));
          expect(delay).toBeGreaterThanOrEqual(least);
          expect(delay).toBeLessThanOrEqual(Math.round(durationMs(backoff.max) * (1 + backoff.jitter)));
          expect(healingBackoffMs(backoff, attempt + 1, random)).toBeGreaterThanOrEqual(delay);
        },
      ),
    );
  });
});

test('the memory of a cycle fades after an hour, or twice the longest delay', () => {
  expect(expiresAt(0, DEFAULT_HEALING_BACKOFF)).toBe(HOUR);
  expect(expiresAt(HOUR, { ...DEFAULT_HEALING_BACKOFF, max: '24h' })).toBe(49 * HOUR);
});
