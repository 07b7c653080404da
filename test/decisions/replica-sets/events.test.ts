import { expect, test } from 'vitest';
import { statusEvents } from '../../../decisions/replica-sets/events.ts';
import { planReplicaSet, planVmiSet } from '../../../decisions/replica-sets/plan.ts';
import { aFailedStart, aMember, anInstanceSet, aSet, calm, still } from './sets.ts';
import { namesOf } from './steps.ts';

const [A, B] = namesOf(2) as [string, string];

/** Plans for a set whose status is that of the plan before. */
const plan = (paused: boolean, before: ReturnType<typeof planReplicaSet> | null) => {
  const set = { ...aSet({ replicas: 1, paused }), ...(before === null ? {} : { status: before.status! }) };
  const planned = planReplicaSet({ ...still, set, vms: [aMember(A)] });
  return planned.status === null ? { ...planned, status: set.status ?? null } : planned;
};

test('a set has one Event when it is paused, and one when it is resumed', () => {
  const fresh = plan(false, null);
  expect(fresh.events).toEqual([]);
  const paused = plan(true, fresh);
  expect(paused.events).toEqual([
    { type: 'Normal', reason: 'SuccessfulPaused', action: 'Pause', note: 'Paused: spec.paused is true' },
  ]);
  expect(plan(true, null).events).toEqual(paused.events);
  expect(plan(true, paused).events).toEqual([]);
  const resumed = plan(false, paused);
  expect(resumed.events).toEqual([{ type: 'Normal', reason: 'SuccessfulResumed', action: 'Resume', note: 'Resumed' }]);
  expect(plan(false, resumed).events).toEqual([]);
});

test('VMIs that end before they come up cause one Event when the set begins to wait', () => {
  const set = anInstanceSet({ replicas: 1 });
  const first = planVmiSet({ ...calm, now: 1_000, set, vmis: [aFailedStart(A)] });
  expect(first.events).toEqual([]);
  const second = planVmiSet({ ...calm, now: 3_000, set, vmis: [aFailedStart(B, 2_000)], starts: first.starts });
  expect(second.events).toMatchObject([
    { type: 'Warning', reason: 'FailedStart', note: expect.stringContaining(`${B} ended before`) as string },
  ]);
  const told = { ...set, status: second.status! };
  const third = planVmiSet({ ...calm, now: 20_000, set: told, vmis: [aFailedStart(A, 15_000)], starts: second.starts });
  expect(third.starts?.inARow).toBe(3);
  expect(third.events).toEqual([]);
});

test.each(['FailedCreate', 'FailedStart'])('a set that stalls because of %s has an Event, once', (reason) => {
  const set = { ...aSet(), status: { replicas: 0 } };
  const stalled = {
    replicas: 0,
    conditions: [{ type: 'Stalled', status: 'True', reason, message: 'no quota' } as const],
  };
  expect(statusEvents(set, stalled, 0)).toMatchObject([
    { type: 'Warning', reason: 'Stalled', note: expect.stringMatching(/^no quota: `drover status vmrs /) as string },
  ]);
  expect(statusEvents({ ...set, status: stalled }, stalled, 0)).toEqual([]);
});
