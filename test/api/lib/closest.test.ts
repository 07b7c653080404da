import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { closest, editDistance } from '../../../api/lib/closest.ts';

describe('closest', () => {
  const fields = ['replicas', 'template', 'maxUnavailable', 'paused', 'selector'];

  it.each([
    ['replica', 'replicas'],
    ['Replicas', 'replicas'],
    ['repilcas', 'replicas'],
    ['maxunavailible', 'maxUnavailable'],
    ['pause', 'paused'],
  ])('takes %s for %s', (word, meant) => {
    expect(closest(word, fields)).toBe(meant);
  });

  it.each(['nodeAffinity', 'x', 'strategy'])('suggests nothing for %s', (word) => {
    expect(closest(word, fields)).toBeUndefined();
  });
});

describe('editDistance', () => {
  it('counts a swap of neighbours as one', () => {
    expect(editDistance('repilcas', 'replicas')).toBe(1);
  });

  it('is 0 only for equal words, symmetric, and at most the length of the longer word', () => {
    const word = fc.string({ maxLength: 12 });
    fc.assert(
      fc.property(word, word, (a, b) => {
        const distance = editDistance(a, b);
        expect(distance === 0).toBe(a === b);
        expect(distance).toBe(editDistance(b, a));
        expect(distance).toBeLessThanOrEqual(Math.max(a.length, b.length));
      }),
    );
  });
});
