import { expect, test } from 'vitest';
import { inShort, type Skipped } from '../../../decisions/runs/skipped.ts';

const one = (n: number, isExcluded: boolean): Skipped => ({
  message: `reason ${n}`,
  isExcluded,
  count: 2,
  vms: ['shop/a', 'shop/b'],
});

test('few reasons with few names are reported as they are', () => {
  const few = [one(1, true), one(2, false)];
  expect(inShort(few)).toEqual(few);
});

test('most of many reasons are only counted, and opt-outs remain distinct from what passes', () => {
  const told = inShort(Array.from({ length: 100 }, (_, n) => one(n, n % 4 === 0)));
  expect(told.length).toBe(42);
  expect(told.slice(40)).toEqual([
    { message: 'for other reasons', isExcluded: true, count: 30, vms: [] },
    { message: 'for other reasons', isExcluded: false, count: 90, vms: [] },
  ]);
});

test('a long reason is cut, and the first of many names are reported', () => {
  const vms = Array.from({ length: 100 }, (_, n) => `shop/vm-${n}`);
  const [told] = inShort([{ message: 'x'.repeat(10_000), isExcluded: false, count: 500, vms }]);
  expect(told).toMatchObject({ message: 'x'.repeat(300), count: 500 });
  expect(told!.vms).toEqual(vms.slice(0, 40));
});
