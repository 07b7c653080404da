import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatNames } from '../../../decisions/lib/names.ts';
import { freeNumbers, numberOf, vmName } from '../../../decisions/template/vm-names.ts';

test.each<[string[], string]>([
  [['web-1'], 'web-1'],
  [['web-2', 'web-1'], 'web-1, web-2'],
  [['web-3', 'web-1', 'web-2'], 'web-1 … web-3'],
  [['web-10', 'web-9', 'web-1', 'web-11', 'web-3'], 'web-1, web-3, web-9 … web-11 (5)'],
  [['a-1', 'a-3', 'a-5', 'a-7', 'a-9', 'a-11'], 'a-1, a-3, a-5, a-7, … (6)'],
])('the names %j are told in words', (names, words) => {
  expect(formatNames(names)).toBe(words);
});

test('the lowest free numbers are given, whatever is in use', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.integer({ min: 1, max: 50 })), fc.nat(20), (taken, count) => {
      const numbers = freeNumbers('web', count, (name) => taken.includes(numberOf('web', name)!));
      expect(numbers).toHaveLength(count);
      const last = numbers.at(-1) ?? 0;
      const free = Array.from({ length: last }, (_, index) => index + 1).filter((number) => !taken.includes(number));
      expect(numbers).toEqual(free);
    }),
  );
});

test.each<[string, number | null]>([
  ['web-7', 7],
  ['web-07', null],
  ['web-0', 0],
  ['web-a', null],
  ['web-1-1', null],
  ['other-1', null],
])('the number in %s', (name, number) => {
  expect(numberOf('web', name)).toBe(number);
  if (number !== null) expect(vmName('web', number)).toBe(name);
});
