import { expect, test } from 'vitest';
import { CAPS } from '../../../api/lib/caps.ts';
import { refusalsAfter, type NotMoved, type RefusedEvacuation } from '../../../decisions/drain/refusals.ts';

const NOW = 10_000_000;

const named = (n: number): Pick<NotMoved, 'vm' | 'uid'> => ({ vm: `web-${n}`, uid: `vmi-${n}` });
const refused = (n: number, why = 'forbidden'): NotMoved => ({ ...named(n), reason: 'Refused', message: why });
const after = (before: readonly RefusedEvacuation[], notMoved: NotMoved[], tried: string[] = [], now = NOW) =>
  refusalsAfter(before, { tried: [...tried, ...notMoved.map(({ vm }) => vm)], notMoved }, now);

test('refusals in a row are counted, each with a longer delay', () => {
  const first = after([], [refused(1)]);
  expect(first).toEqual([{ ...named(1), message: 'forbidden', since: NOW, times: 1, notBefore: NOW + 10_000 }]);
  expect(after(first, [refused(1)], [], NOW + 10_000)).toMatchObject([
    { since: NOW, times: 2, notBefore: NOW + 30_000 },
  ]);
});

test('a full budget starts no count, and another migration ends it', () => {
  const first = after([], [refused(1)]);
  expect(after([], [{ ...named(1), reason: 'NoClaim', message: 'full' }])).toMatchObject([{ since: null, times: 0 }]);
  expect(after(first, [{ ...named(1), reason: 'NoClaim', message: 'full' }])).toMatchObject([{ since: NOW, times: 1 }]);
  const other: NotMoved = { ...named(1), reason: 'OtherMigration', message: 'another' };
  expect(after(first, [other])).toMatchObject([{ since: null, times: 0, notBefore: NOW + 10_000 }]);
});

test('a VM that has moved, or was not tried for ten minutes, is forgotten', () => {
  const first = after([], [refused(1), refused(2)]);
  expect(after(first, [], ['web-1'])).toMatchObject([{ vm: 'web-2' }]);
  expect(after(first, [refused(3)], [], NOW + 610_000)).toMatchObject([{ vm: 'web-3' }]);
});

test('a run can pass on what it knows of refusals, however long they are', () => {
  const all = after(
    [],
    Array.from({ length: CAPS.refusedEvacuations }, (_, n) => refused(n, 'x'.repeat(4_096))),
  );
  expect(all).toHaveLength(CAPS.refusedEvacuations);
  expect(JSON.stringify(all).length).toBeLessThan(500_000);
});
