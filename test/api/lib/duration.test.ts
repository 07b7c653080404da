import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { durationMs } from '../../../api/lib/duration.ts';

describe('durationMs', () => {
  it.each([
    ['30s', 30_000],
    ['10m', 600_000],
    ['1h30m', 5_400_000],
    ['1.5h', 5_400_000],
    ['250ms', 250],
    ['5m0s', 300_000],
    ['1s500ms', 1_500],
    ['0s', 0],
    ['999999999h999999999h', 100 * 365 * 24 * 3_600_000],
  ])('%s is %d ms', (text, ms) => {
    expect(durationMs(text)).toBe(ms);
  });

  it.each(['', '10', '10min', '1d', 'm', '-5s', ' 5s', '5 s', '1.s', 'never', '10s '])('refuses %j', (text) => {
    expect(() => durationMs(text)).toThrow(RangeError);
  });

  it('adds its parts up', () => {
    const part = fc.nat(9999);
    fc.assert(
      fc.property(part, part, part, part, (h, m, s, ms) => {
        expect(durationMs(`${h}h${m}m${s}s${ms}ms`)).toBe(((h * 60 + m) * 60 + s) * 1000 + ms);
      }),
    );
  });
});
