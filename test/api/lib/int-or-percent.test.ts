import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countOf } from '../../../api/lib/int-or-percent.ts';

describe('countOf', () => {
  it('returns a number as it is', () => {
    expect(countOf(10, 3)).toBe(10);
  });

  it('rounds a share down', () => {
    expect(countOf('25%', 7)).toBe(1);
    expect(countOf('100%', 7)).toBe(7);
    expect(countOf('25%', 3)).toBe(0);
  });

  it('is never less than the given minimum', () => {
    expect(countOf('25%', 3, 1)).toBe(1);
    expect(countOf('25%', 0, 1)).toBe(1);
  });

  it('is exact for any pool', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100 }), fc.nat(99_999), (percent, total) => {
        const count = BigInt(countOf(`${percent}%`, total));
        expect(count).toBe((BigInt(total) * BigInt(percent)) / 100n);
      }),
    );
  });

  it.each(['25', '%', '2.5%', 'a%'])('refuses %j', (text) => {
    expect(() => countOf(text, 4)).toThrow(RangeError);
  });
});
