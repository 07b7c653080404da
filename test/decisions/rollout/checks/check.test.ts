import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CheckStatus, PoolStatus, RolloutStatus, RolloutStep, StepCheck } from '../../../../api/pool/pool.ts';
import {
  afterLook,
  checkRules,
  dueCheck,
  subjectOf,
  verdictOf,
  type Look,
} from '../../../../decisions/rollout/checks/check.ts';
import { aStep, at, fresh, NEW, NOW, old, plan, rolling, rolloutInput, waits } from '../../fixtures/rollout-pools.ts';

const SECOND = 1_000;
const MINUTE = 60_000;
const CHECK: StepCheck = {
  prometheus: { address: 'http://prometheus', query: 'up', min: 1 },
  holdsFor: '3m',
  every: '1m',
  deadline: '30m',
};
const REACHED = at(NOW - 10 * MINUTE);
const STATE = rolling({ stepReachedAt: REACHED });
const OF = subjectOf(CHECK, STATE)!;

const look = (outcome: Look['outcome']): Look => ({ outcome, message: `it ${outcome}` });

/** What is known after these looks, each so many milliseconds after the one before. */
function seenAfter(looks: readonly (readonly [Look['outcome'], number])[], check = CHECK): CheckStatus {
  let time = Date.parse(REACHED);
  return looks.reduce<CheckStatus | undefined>((seen, [outcome, ms]) => {
    time += ms;
    return afterLook(seen, { check, of: OF }, look(outcome), time);
  }, undefined)!;
}

const every = (ms: number, ...outcomes: Look['outcome'][]) => outcomes.map((outcome) => [outcome, ms] as const);
const minutely = (...outcomes: Look['outcome'][]): CheckStatus => seenAfter(every(MINUTE, ...outcomes));
const { Holds, Fails, Unknown } = { Holds: 'Holds', Fails: 'Fails', Unknown: 'Unknown' } as const;

describe('a check', () => {
  test.each<[string, CheckStatus, string]>([
    ['that has held for its time has passed', minutely(Holds, Holds, Holds, Holds), 'Passed'],
    ['that has held for less is open', minutely(Holds, Holds, Holds), 'Open'],
    ['that flaps begins its time again', minutely(Holds, Holds, Fails, Holds, Holds, Holds), 'Open'],
    ['that fails now and then is open', minutely(Fails, Fails, Holds, Fails, Fails), 'Open'],
    ['that fails three times in a row has failed', minutely(Holds, Fails, Fails, Fails), 'Failed'],
    ['that nobody can judge is open', minutely(...Array.from({ length: 20 }, () => Unknown)), 'Open'],
    ['that fails between looks that tell nothing is open', minutely(Fails, Unknown, Fails, Unknown, Fails), 'Open'],
    ['goes on holding over a look that tells nothing', minutely(Holds, Unknown, Holds, Holds), 'Passed'],
    ['does not pass by a look that tells nothing', minutely(Holds, Holds, Holds, Unknown), 'Open'],
    [
      'begins its time again if nothing was told for longer than three looks',
      minutely(Holds, Holds, Unknown, Unknown, Unknown, Unknown, Holds, Holds),
      'Open',
    ],
    [
      'begins its time again if nobody looked for longer than three looks',
      seenAfter([...every(MINUTE, Holds, Holds, Holds), [Holds, 3 * MINUTE + 1]]),
      'Open',
    ],
    [
      'begins its count again if nobody looked',
      seenAfter([...every(MINUTE, Fails, Fails), [Fails, 3 * MINUTE + 1]]),
      'Open',
    ],
    [
      'that flaps until its deadline has failed',
      seenAfter(every(MINUTE, ...Array.from({ length: 31 }, (_, n) => (n % 2 === 0 ? Fails : Holds)))),
      'Failed',
    ],
    [
      'that holds at its deadline may still pass',
      seenAfter(every(MINUTE, ...Array.from({ length: 30 }, (_, n) => (n % 2 === 0 ? Fails : Holds)), Holds)),
      'Open',
    ],
    [
      'that nobody can judge at its deadline is for a user to judge, and has not failed',
      seenAfter(every(MINUTE, ...Array.from({ length: 31 }, () => Unknown))),
      'Unjudged',
    ],
    [
      'passes after its deadline once it holds',
      seenAfter(every(MINUTE, ...Array.from({ length: 31 }, () => Unknown), Holds, Holds, Holds, Holds)),
      'Passed',
    ],
  ])('%s', (_what, seen, verdict) => {
    expect(verdictOf(CHECK, seen)).toBe(verdict);
  });

  test('has a new beginning if it is changed, its step is reached anew, or the rollout is resumed', () => {
    const seen = minutely(Fails, Fails);
    const reached = Date.parse(REACHED) + 2 * MINUTE + SECOND;
    for (const of of [
      { ...OF, digest: 'other' },
      { ...OF, step: 2 },
      { ...OF, revision: 'other' },
      subjectOf(CHECK, { ...STATE, stepReachedAt: at(NOW) })!,
      subjectOf(CHECK, { ...STATE, resumedAt: at(NOW) })!,
      subjectOf({ ...CHECK, holdsFor: '4m' }, STATE)!,
    ])
      expect(afterLook(seen, { check: CHECK, of }, look(Fails), reached)).toMatchObject({ inARow: 1 });
    expect(afterLook(seen, { check: CHECK, of: OF }, look(Fails), reached)).toMatchObject({ inARow: 3 });
  });

  test('passes only if it was seen to hold throughout its time, and fails only if it was seen to fail', () => {
    const outcome = fc.constantFrom(Holds, Fails, Unknown);
    const looks = fc.array(fc.tuple(outcome, fc.integer({ min: SECOND, max: 5 * MINUTE })), { minLength: 1 });
    fc.assert(
      fc.property(looks, (all) => {
        const seen = seenAfter(all);
        const { gapMs } = checkRules(CHECK);
        const verdict = verdictOf(CHECK, seen);
        if (verdict === 'Failed') expect(seen.outcome).toBe('Fails');
        if (verdict !== 'Passed') return;
        let [held, sinceHeld] = [0, 0];
        for (let last = all.length - 1; last >= 0; last--) {
          const [how, ms] = all[last]!;
          expect(how).not.toBe('Fails');
          if (how === 'Holds') sinceHeld = 0;
          held += ms;
          sinceHeld += ms;
          expect(sinceHeld).toBeLessThanOrEqual(gapMs);
          if (held >= 3 * MINUTE) return;
        }
        expect.fail('it has passed too early');
      }),
    );
  });
});

/** The check that is due in a pool like this. */
const due = (rollout: Partial<RolloutStatus>, spec = {}, status: Partial<PoolStatus> = {}) =>
  dueCheck(
    rolloutInput({
      vms: [fresh(1), old(2)],
      spec: { rollout: { steps: [aStep(1, { check: CHECK })] }, ...spec },
      status: { rollout: { ...STATE, ...rollout }, ...status },
    }).pool,
  );

describe('which check is due', () => {
  const HALTED = { kind: 'Failed', by: 'drover', at: REACHED } as const;

  test('that of the step that is reached', () => expect(due({})).toEqual({ check: CHECK, of: OF }));
  test.each<[string, ReturnType<typeof due>]>([
    ['the step is not reached', due({ stepReachedAt: undefined as never })],
    ['the rollout is paused', due({ paused: { by: 'ann', at: REACHED } })],
    ['the pool is paused', due({}, { paused: true })],
    ['the rollout has ended', due({ halted: HALTED })],
    ['the rollout is complete', due({ completedAt: REACHED })],
    ['another revision is rolled out', due({ revision: 'other' })],
    ['all steps are passed', due({ step: 1 })],
    ['the step has no check', due({}, { rollout: { steps: [aStep(1)] } })],
  ])('none if %s', (_what, found) => expect(found).toBeNull());
});

const at1 = (check: StepCheck = CHECK): RolloutStep[] => [aStep(1, { check })];

describe('a rollout at a step with a check', () => {
  const vms = [fresh(1), old(2), old(3)];
  const planned = ({
    seen,
    check = CHECK,
    state = STATE,
    stored = state,
    onFailure = 'Pause',
    now = seen === undefined ? NOW : Date.parse(seen.lastAt),
  }: {
    seen?: CheckStatus;
    check?: StepCheck;
    state?: RolloutStatus;
    stored?: RolloutStatus;
    onFailure?: 'Pause' | 'Undo' | 'Continue';
    now?: number;
  }) =>
    plan({
      vms,
      spec: { maxUnavailable: 1, rollout: { steps: at1(check), onFailure } },
      status: { rollout: stored, ...(seen && { check: seen }) },
      state,
      now,
    });

  const said = (seen?: CheckStatus): string[] => waits(planned(seen === undefined ? {} : { seen }));

  test('is looked at as soon as the step is reached', () => {
    expect(planned({})).toMatchObject({ phase: 'Waiting', look: expect.stringContaining('step 1 of 1 (1)') as string });
  });

  test('is looked at again after its time', () => {
    const seen = minutely(Holds);
    const lastAt = Date.parse(seen.lastAt);
    expect(planned({ seen, now: lastAt + 1 })).toMatchObject({ look: null, requeueAt: lastAt + MINUTE, update: null });
    expect(planned({ seen, now: lastAt + MINUTE }).look).not.toBeNull();
  });

  test('passes the step once the check has', () => {
    const { state, update } = planned({ seen: minutely(Holds, Holds, Holds, Holds) });
    expect(state.step).toBe(1);
    expect(update).not.toBeNull();
  });

  test('does not pass by what was seen long ago, and is looked at', () => {
    const seen = minutely(Holds, Holds, Holds, Holds);
    const late = planned({ seen, now: Date.parse(seen.lastAt) + 4 * MINUTE });
    expect(late).toMatchObject({ update: null, state: { step: 0 }, look: expect.any(String) as string });
  });

  test.each([
    ['Pause', undefined, 'Failed'],
    ['Undo', undefined, 'Undoing'],
    ['Continue', undefined, 'Failed'],
    ['Pause', 'Undo', 'Undoing'],
    ['Undo', 'Pause', 'Failed'],
  ] as const)('ends by onFailure %s, and that of the check %s, as %s', (onFailure, own, kind) => {
    const check = own === undefined ? CHECK : { ...CHECK, onFailure: own };
    const of = subjectOf(check, STATE)!;
    const seen = { ...minutely(Fails, Fails, Fails), of };
    const { state, phase, look: again } = planned({ seen, check, onFailure });
    expect(state.halted).toMatchObject({
      kind,
      by: 'drover',
      reason: 'the check of step 1 of 1 has failed: it Fails, 3 times in a row',
    });
    expect(phase).toBe(kind);
    expect(again).toBeNull();
  });

  test('says how far the check is', () => {
    expect(said()).toEqual(['step 1 of 1 (1) is reached: its check must hold for 3m']);
    expect(said(minutely(Holds, Holds))).toEqual([
      'step 1 of 1 (1) is reached: its check has held since 2026-01-01T11:51:00.000Z, and it continues at 2026-01-01T11:54:00.000Z',
    ]);
    expect(said(minutely(Fails))).toEqual([
      'step 1 of 1 (1) is reached: its check does not hold, 1 of 3 times in a row',
    ]);
    expect(said(minutely(Unknown))).toEqual(["step 1 of 1 (1) is reached: its check can't be judged now: it Unknown"]);
    expect(said(minutely(...Array.from({ length: 31 }, () => Unknown)))).toEqual([
      "step 1 of 1 (1) is reached: its check can't be judged: it Unknown; it waits for `drover rollout promote`, or until the check has held for 3m",
    ]);
  });

  test('begins anew after it was resumed from a check that failed', () => {
    const seen = minutely(Fails, Fails, Fails);
    const state = { ...STATE, resumedAt: at(Date.parse(seen.lastAt) + 1) };
    expect(planned({ seen, state })).toMatchObject({ state: { step: 0 }, look: expect.any(String) as string });
    expect(planned({ seen, state }).state.halted).toBeUndefined();
  });

  test.each(['spec', 'person'])('neither passes nor fails while it is paused by %s', (by) => {
    const seen = minutely(Holds, Holds, Holds, Holds);
    const paused = by === 'person' ? { paused: { by: 'ann', at: at(NOW) } } : {};
    const input = {
      vms,
      spec: { paused: by === 'spec', rollout: { steps: at1() } },
      status: { rollout: { ...STATE, ...paused } },
      state: { ...STATE, ...paused },
    };
    for (const check of [seen, minutely(Fails, Fails, Fails)]) {
      const held = plan({ ...input, status: { ...input.status, check }, now: Date.parse(check.lastAt) });
      expect(held).toMatchObject({ phase: 'Paused', look: null, update: null, state: { step: 0 } });
    }
  });

  test('waits with the whole pool updated, if its last step has a check', () => {
    const all = plan({
      vms: [fresh(1), fresh(2)],
      spec: { rollout: { steps: [aStep('100%', { check: CHECK })] } },
      status: { rollout: { ...STATE, batches: 1 } },
      state: { ...STATE, batches: 1 },
    });
    expect(all).toMatchObject({ phase: 'Waiting', look: expect.any(String) as string, target: NEW });
  });
});
