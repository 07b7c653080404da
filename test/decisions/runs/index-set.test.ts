import fc from 'fast-check';
import { expect, test } from 'vitest';
import { hasIndex, withIndex } from '../../../decisions/runs/index-set.ts';

test('a set of numbers in text has what was put into it, and nothing else', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(500)), (indexes) => {
      const set = indexes.reduce(withIndex, '');
      const members = Array.from({ length: 510 }, (_, index) => index).filter((index) => hasIndex(set, index));
      expect(members).toEqual([...new Set(indexes)].sort((a, b) => a - b));
      expect(set.length).toBe(indexes.length === 0 ? 0 : Math.floor(Math.max(...indexes) / 6) + 1);
    }),
  );
});
