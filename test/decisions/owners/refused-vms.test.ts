import fc from 'fast-check';
import { expect, test } from 'vitest';
import { refusedLast } from '../../../decisions/owners/refused-vms.ts';

const numbers = (count: number): string[] => Array.from({ length: count }, (_, index) => String(index));
const nameOf = (name: string): string => name;

/** Tries the first VM each time, until one is not refused. Returns the number of refusals. */
function triesUntilTaken(all: string[], isRefused: (name: string) => boolean): number {
  const names: string[] = [];
  for (;;) {
    const [first] = refusedLast(all, nameOf, { names, isDelayed: true, isGeneral: true });
    if (!isRefused(first!)) return names.length;
    names.push(first!);
  }
}

test('many refused VMs in a row are skipped within few tries, wherever they are', () => {
  const parts = fc.record({ from: fc.integer({ min: 0, max: 500 }), count: fc.integer({ min: 1, max: 500 }) });
  fc.assert(
    fc.property(parts, ({ from, count }) => {
      const isRefused = (name: string): boolean => Number(name) >= from && Number(name) < from + count;
      expect(triesUntilTaken(numbers(1_000), isRefused)).toBeLessThanOrEqual(3);
    }),
  );
});

test('no VM is lost, and refused VMs go last, the most recently refused at the very end', () => {
  const all = numbers(20);
  fc.assert(
    fc.property(fc.uniqueArray(fc.constantFrom(...all)), fc.boolean(), (names, isGeneral) => {
      const tried = refusedLast(all, nameOf, { names, isDelayed: false, isGeneral });
      expect(tried.toSorted()).toEqual(all.toSorted());
      expect(tried.slice(all.length - names.length)).toEqual(names);
      expect(refusedLast(all, nameOf, { names, isDelayed: true, isGeneral })).toEqual(
        tried.slice(0, all.length - names.length),
      );
    }),
  );
});
