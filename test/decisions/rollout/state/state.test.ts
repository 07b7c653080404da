import { describe, expect, test } from 'vitest';
import {
  actOf,
  newRolloutState,
  halted,
  paused,
  promoted,
  resumed,
  withFailures,
} from '../../../../decisions/rollout/state/state.ts';
import { at, failure, NEW, NOW, OLD, rolling } from '../../fixtures/rollout-pools.ts';

const NOTHING_FAILED = { revision: NEW, startedAt: at(NOW), batches: 0, step: 0, failures: [] };

test("a rollout begins with the number of the last batch and a user's pause, and nothing else of the one before", () => {
  const pause = { by: 'anna', at: at(0) };
  const before = rolling({
    revision: OLD,
    batches: 3,
    lastBatch: 9,
    step: 2,
    stepReachedAt: at(0),
    failures: [failure('web-1')],
    completedAt: at(0),
    paused: pause,
  });
  expect(newRolloutState(NEW, at(NOW))).toEqual({ ...NOTHING_FAILED, lastBatch: 0 });
  expect(newRolloutState(NEW, at(NOW), before)).toEqual({ ...NOTHING_FAILED, lastBatch: 9, paused: pause });
});

test('a pause and a halt say who, when and why', () => {
  expect(paused(rolling(), { by: 'anna', reason: 'lunch' }, at(NOW)).paused).toEqual({
    by: 'anna',
    at: at(NOW),
    reason: 'lunch',
  });
  expect(paused(rolling(), {}, at(NOW)).paused).toEqual({ by: 'unknown', at: at(NOW) });
  expect(halted(rolling(), 'Aborted', {}, at(NOW)).halted).toEqual({ kind: 'Aborted', by: 'unknown', at: at(NOW) });
  // The pool's status takes only text.
  expect(actOf({ by: 5, reason: { no: 'words' } }, at(NOW))).toEqual({
    by: '5',
    at: at(NOW),
    reason: '{"no":"words"}',
  });
  expect(actOf({ by: null, reason: null }, at(NOW))).toEqual({ by: 'unknown', at: at(NOW) });
});

test('a resume ends both, and failed VMs may be tried again', () => {
  const stopped = halted(
    paused(rolling({ failures: [failure('web-1')], step: 1, batches: 4 }), {}, at(NOW)),
    'Failed',
    {},
    at(NOW),
  );
  expect(resumed(stopped, at(NOW))).toEqual(rolling({ step: 1, batches: 4, resumedAt: at(NOW) }));
});

test('a promotion passes one step, or all, and never more than there are', () => {
  const waiting = rolling({ step: 1, stepReachedAt: at(NOW) });
  expect(promoted(waiting, 3, false)).toEqual(rolling({ step: 2 }));
  expect(promoted(waiting, 3, true)).toEqual(rolling({ step: 3 }));
  expect(promoted(rolling({ step: 3 }), 3, false).step).toBe(3);
});

describe('a record of failures', () => {
  const undoing = rolling({ halted: { kind: 'Undoing', by: 'drover', at: at(NOW) } });

  test('has a VM once, the newest last, and is bounded', () => {
    const state = rolling({ failures: [failure('web-1'), failure('web-2')] });
    expect(withFailures(state, NEW, [failure('web-1', { message: 'again' })]).failures).toEqual([
      failure('web-2'),
      failure('web-1', { message: 'again' }),
    ]);
    const message = 'x'.repeat(1_024);
    const many = Array.from({ length: 1_200 }, (_, index) => failure(`web-${index}`, { message }));
    const { failures } = withFailures(state, NEW, many);
    expect(failures.map(({ vm }) => vm)).toEqual(many.slice(200).map(({ vm }) => vm));
    expect(failures.slice(-100)).toEqual(many.slice(-100));
    expect(JSON.stringify(failures).length).toBeLessThan(300_000);
  });

  test('has what each was turned back for: a VM that the rollout took down was not down by itself', () => {
    const state = {
      ...undoing,
      failures: [failure('web-1', { message: 'no boot' }), failure('web-2', { wasDown: true })],
    };
    const again = [failure('web-1', { wasDown: true }), failure('web-2'), failure('web-3', { wasDown: true })];
    expect(withFailures(state, OLD, again).failures).toEqual([
      failure('web-1', { message: 'no boot; and on the way back: not ready in time' }),
      failure('web-2', { message: 'not ready in time; and on the way back: not ready in time', wasDown: true }),
      failure('web-3', { wasDown: true }),
    ]);
  });

  test('counts all that fail on the way back once it is full: it may have forgotten which VMs the rollout took down', () => {
    const back = failure('web-0', { wasDown: true });
    const forward = Array.from({ length: 1_001 }, (_, n) => failure(`web-${n}`, { at: at(NOW - 5_000) }));
    const few = withFailures(undoing, NEW, []);
    expect(withFailures({ ...few, failures: forward.slice(2) }, OLD, [back]).failures.at(-1)).toEqual(back);
    expect(withFailures({ ...few, failures: forward.slice(1) }, OLD, [back]).failures.at(-1)).toEqual(failure('web-0'));
  });

  test('has only failures of the revision that VMs are brought to: a batch may end beside the plan that turns it round', () => {
    const late = [failure('web-1')];
    expect(withFailures(rolling(), NEW, late).failures).toEqual(late);
    expect(withFailures(rolling(), OLD, late).failures).toEqual([]);
    expect(withFailures(undoing, NEW, late).failures).toEqual([]);
    expect(withFailures(undoing, OLD, late).failures).toEqual(late);
  });
});
