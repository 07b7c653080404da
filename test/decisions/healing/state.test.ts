import { describe, expect, test } from 'vitest';
import type { AttemptId } from '../../../decisions/healing/attempt.ts';
import {
  newCycle,
  noHealing,
  skippedSince,
  stateFrom,
  carriedOver,
  runOf,
  withAttemptEnd,
  withBegun,
  withSkippedDelay,
  withLostAttempt,
  withRemoval,
  withSkip,
  type Cycle,
  type FinishedCycle,
  type HealingState,
} from '../../../decisions/healing/state.ts';

const cycle = newCycle({ name: 'web-1', uid: 'uid-of-web-1', attempt: 2, message: 'it is sick' }, 1_000);
const id: AttemptId = { vm: 'web-1', uid: 'uid-of-web-1', attempt: 2, startedAt: cycle.startedAt };
const healing = (more: Partial<Cycle> = {}): HealingState => ({ ...noHealing, cycles: [{ ...cycle, ...more }] });
const nextAt = '2026-01-01T00:10:00Z';
const removed = { end: 'Removed', keptDisks: true, nextAt } as const;

describe('a message about an attempt', () => {
  test('says that the VM is gone, and how the attempt ended', () => {
    const waiting = withRemoval(healing(), id, removed);
    expect(waiting.cycles).toEqual([{ ...cycle, phase: 'Waiting', nextAt, onSameDisks: 1 }]);
    const ended = withAttemptEnd(waiting, id, removed);
    expect(ended.cycles).toEqual([{ ...waiting.cycles[0], run: { state: 'Ended', outcome: removed } }]);
    expect(withAttemptEnd(healing(), id, removed)).toEqual(ended);
    const another = withRemoval(healing({ onSameDisks: 1 }), id, { keptDisks: false, nextAt });
    expect(another.cycles[0]).not.toHaveProperty('onSameDisks');
  });

  test.each<[string, Partial<AttemptId>]>([
    ['an earlier attempt', { attempt: 1 }],
    ['the same attempt of an earlier cycle', { startedAt: '2025-12-31T00:00:00Z' }],
    ['another VM of the same name, as in an earlier pool', { uid: 'another' }],
    ['another VM', { vm: 'web-2' }],
  ])('changes nothing if that is %s', (_which, other) => {
    const state = healing({ run: { state: 'Running', since: 1 } });
    const late = { ...id, ...other };
    expect(withRemoval(state, late, removed)).toEqual(state);
    expect(withAttemptEnd(state, late, removed)).toEqual(state);
    expect(withLostAttempt(state, late, 'NotBegun')).toEqual(state);
  });

  test('leaves alone what has changed meanwhile', () => {
    const provisioning = healing({ phase: 'Provisioning', run: { state: 'Ended', outcome: removed } });
    expect(withRemoval(provisioning, id, removed)).toEqual(provisioning);
    expect(withAttemptEnd(provisioning, id, removed)).toEqual(provisioning);
    expect(withLostAttempt(provisioning, id, 'Unknown')).toEqual(provisioning);
  });
});

test('a running attempt may be unknown to the next run of the workflow, and all attempts are unknown to a new workflow', () => {
  const attempt = {
    unhealthyVm: { name: 'web-1' },
  } as Parameters<typeof withBegun>[1][number];
  const running = withBegun(healing(), [attempt], 5);
  expect(running.cycles).toEqual([{ ...cycle, run: { state: 'Running', since: 5 } }]);
  const { run: _, ...stored } = cycle;
  const status = { cycles: [stored], finished: [] };
  expect(stateFrom(status, runOf(running)).cycles).toEqual(running.cycles);
  expect(stateFrom(status, carriedOver(runOf(running))).cycles).toEqual([{ ...cycle, run: { state: 'Unknown' } }]);
  expect(stateFrom(status, carriedOver(runOf(healing()))).cycles).toEqual([cycle]);
  expect(stateFrom(status).cycles).toEqual([{ ...cycle, run: { state: 'Unknown' } }]);
});

describe('a user', () => {
  test('skips the delay of a VM in any waiting phase, and heals a VM again that was given up or skipped', () => {
    expect(withSkippedDelay(healing(), 'web-1').cycles).toEqual([{ ...cycle, skipDelay: true }]);
    const provisioning = healing({ phase: 'Provisioning' });
    expect(withSkippedDelay(provisioning, 'web-1')).toEqual(provisioning);
    const given = { ...noHealing, finished: [over(1, 'GivenUp'), over(2, 'Skipped'), over(3, 'Left')] };
    const left = withSkippedDelay(withSkippedDelay(withSkippedDelay(given, 'web-1'), 'web-2'), 'web-3');
    expect(left.finished.map(({ vm }) => vm)).toEqual(['web-3']);
  });

  test('skips a VM, and the first of several counts', () => {
    const once = withSkip(healing(), 'web-1', 'skipped by ada');
    expect(once.cycles).toEqual([{ ...cycle, skipped: 'skipped by ada' }]);
    expect(withSkip(once, 'web-1', 'skipped by kim')).toEqual(once);
    expect(withSkip(once, 'web-2', 'skipped by kim')).toEqual(once);
  });
});

const AT = '2026-01-01T00:00:00Z';
const over = (n: number, end: FinishedCycle['end']): FinishedCycle => {
  const vm = `web-${n}`;
  return { vm, uid: `uid-of-${vm}`, attempts: 1, end, message: 'why', at: AT };
};

test('an attempt that is older than the skip of its VM must leave the VM', () => {
  const vm = { name: 'web-1', uid: 'uid-of-web-1' };
  const status = { cycles: [], finished: [over(1, 'Skipped'), over(2, 'Left')], notReplaced: [], notListed: 0 };
  expect(skippedSince(status, vm, Date.parse(AT) - 1)).toBe('why');
  // A user has asked for its healing after that.
  expect(skippedSince(status, vm, Date.parse(AT))).toBeNull();
  expect(skippedSince(status, { ...vm, uid: 'another' }, 0)).toBeNull();
  expect(skippedSince(status, { name: 'web-2', uid: 'uid-of-web-2' }, 0)).toBeNull();
  expect(skippedSince(undefined, vm, 0)).toBeNull();
});
