import fc from 'fast-check';
import { expect, test } from 'vitest';
import { contendedCondition, isContended, NO_CONTENTION, sawForeign } from '../../../decisions/pool/contention.ts';

const NOW = 10_000_000;
const MINUTE = 60_000;

const after = (times: readonly number[], random = 0) =>
  times.reduce((known, at) => sawForeign(known, at, random), NO_CONTENTION);

test('a status from before a restore of Temporal is not contention, and neither are a few far apart', () => {
  for (const times of [[NOW], [NOW, NOW], [NOW, NOW + 5 * MINUTE, NOW + 10 * MINUTE]]) {
    const known = after(times);
    expect([isContended(known, times.at(-1)!), known.asideUntil]).toEqual([false, 0]);
  }
});

test('an installation that is sawForeign again and again stands aside, and longer while that lasts', () => {
  const known = after([NOW, NOW + 1, NOW + 2]);
  expect([isContended(known, NOW + 2), known.asideUntil]).toEqual([true, NOW + 2 + 30_000]);
  expect(sawForeign(known, NOW + MINUTE, 1).asideUntil).toBe(NOW + MINUTE + 90_000);
  expect(isContended(known, NOW + 10 * MINUTE)).toBe(false);
});

test('one of two installations that overrule each other at any times continues', () => {
  fc.assert(
    fc.property(
      fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true })),
      ([one, other]) => {
        const [ours, theirs] = [one, other].map((random) => after([NOW, NOW + 1, NOW + 2], random).asideUntil);
        fc.pre(Math.abs(ours! - theirs!) > 1_000);
        const first = Math.min(ours!, theirs!);
        // The first one that continues writes a status, and the other one sees it.
        expect(sawForeign(after([NOW, NOW + 1, NOW + 2]), first + 1_000, 0).asideUntil).toBeGreaterThan(first + 30_000);
      },
    ),
  );
});

test('the condition names the mistake', () => {
  expect(contendedCondition({})).toEqual([]);
  expect(contendedCondition({ isContended: true })).toMatchObject([
    { type: 'Contended', status: 'True', reason: 'AnotherInstallation' },
  ]);
});
