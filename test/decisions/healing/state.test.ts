import { expect, test } from 'vitest';
import {
  beginningOf,
  cycleOf,
  noHealing,
  remembered,
  withoutBeginning,
  withoutCycle,
  type HealingState,
  type SickVm,
  type FinishedCycle,
} from '../../../decisions/healing/state.ts';

const sick: SickVm = {
  name: 'web-1',
  uid: 'uid-of-web-1',
  attempt: 1,
  why: 'it is sick',
  rules: { backoff: { initial: '1s', factor: 2, max: '5s', jitter: 0 }, maxAttempts: null },
  holdsData: false,
  earlyEnds: 0,
};
const healingSince = (now: number): HealingState => ({ ...noHealing, cycles: [cycleOf(sick, now)] });

test('a cycle that is lost is forgotten, and the one that has followed it is not', () => {
  const [first, second] = [healingSince(1_000), healingSince(2_000)];
  const startedAt = beginningOf(first, 'web-1');
  expect(withoutCycle(first, 'web-1', startedAt, 3_000)).toMatchObject({
    cycles: [],
    finished: [{ vm: 'web-1', end: 'Left', attempts: 1 }],
  });
  expect(withoutCycle(second, 'web-1', startedAt, 3_000)).toBe(second);
  expect(withoutCycle(noHealing, 'web-1', beginningOf(noHealing, 'web-1'), 3_000)).toBe(noHealing);
});

test('a cycle that could not begin is no replacement', () => {
  const [first, second] = [healingSince(1_000), healingSince(2_000)];
  const startedAt = beginningOf(first, 'web-1');
  expect(withoutBeginning(first, 'web-1', startedAt)).toEqual(noHealing);
  expect(withoutBeginning(second, 'web-1', startedAt)).toEqual(second);
});

const AT = '2026-01-01T00:00:00Z';
const over = (n: number, end: FinishedCycle['end']): FinishedCycle => {
  const vm = `web-${n}`;
  return { vm, uid: `uid-of-${vm}`, attempts: 1, end, why: 'why', at: AT };
};

test('a hundred replacements that are over are remembered: those go first that only lengthen a delay', () => {
  let finished: FinishedCycle[] = [over(1, 'GivenUp')];
  for (let n = 2; n <= 200; n++) finished = remembered(finished, over(n, 'Left'));
  const newest = Array.from({ length: 99 }, (_, index) => `web-${102 + index}`);
  expect(finished.map(({ vm }) => vm)).toEqual(['web-1', ...newest]);
});
