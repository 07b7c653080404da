import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { VmiSetSpec } from '../../../api/replica-set/replica-set.ts';
import type { VmiSetInput } from '../../../decisions/replica-sets/plan-input.ts';
import { planVmiSet } from '../../../decisions/replica-sets/plan.ts';
import { startDelayMs, type FailedStarts } from '../../../decisions/replica-sets/start-backoff.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { aFailure, backoffFor } from '../fixtures/backoffs.ts';
import { aFailedStart, anInstance, anInstanceSet, calm } from './sets.ts';
import { conditionOf, deleted, made, namesOf } from './steps.ts';

const [A, B, C, D] = namesOf(4) as [string, string, string, string];
const T = 1_000_000;

const plan = (vmis: VmiView[], input: Partial<VmiSetInput> = {}) =>
  planVmiSet({ ...calm, now: T, set: anInstanceSet({ replicas: 3 }), ...input, vmis });
/** Of the template and the `minReadySeconds` of these tests. */
const HASH = plan([aFailedStart(A)]).starts!.specHash;
const failed = (fields: Partial<FailedStarts> = {}): FailedStarts => ({
  inARow: 2,
  since: T,
  seenAt: T,
  retryAt: T + 10_000,
  specHash: HASH,
  vmi: A,
  message: 'no kernel',
  ...fields,
});

const runsSince = (name: string, since: number): VmiView =>
  anInstance(name, { runningSince: since, readySince: since });
/** When a set with one VMI that starts wakes after failures. */
const waits = (spec: Partial<VmiSetSpec>): number | null =>
  plan([anInstance(A, { ready: false, runningSince: null })], { starts: failed(), set: anInstanceSet(spec) }).requeueAt;

test('the first failure delays nothing, and then the delay doubles from 10 s to 5 minutes', () => {
  expect([1, 2, 3, 4, 5, 6, 7, 8, 99].map(startDelayMs)).toEqual(
    [0, 10, 20, 40, 80, 160, 300, 300, 300].map((seconds) => seconds * 1000),
  );
});

test('a VMI whose start has failed is replaced at once', () => {
  const { steps, starts, status } = plan([aFailedStart(A)]);
  expect(made(steps)).toEqual([B, C, D]);
  expect(deleted(steps)).toEqual([A]);
  expect(starts).toEqual(failed({ inARow: 1, retryAt: T }));
  expect(conditionOf(status, 'ReplicaFailure')).toBeUndefined();
});

describe('a set after repeated failed starts', () => {
  const once = failed({ inARow: 1, seenAt: T - 500, since: T - 500, retryAt: T - 500 });

  test('makes nothing for a while, deletes ended VMIs, and reports why and until when', () => {
    const { steps, starts, status, requeueAt: wakeAt } = plan([aFailedStart(A, T - 1_000)], { starts: once });
    expect(made(steps)).toEqual([]);
    expect(deleted(steps)).toEqual([A]);
    expect(starts).toEqual(failed({ since: T - 500 }));
    expect(wakeAt).toBe(T + 10_000);
    expect(conditionOf(status, 'ReplicaFailure')).toEqual({
      type: 'ReplicaFailure',
      status: 'True',
      reason: 'FailedStart',
      message:
        `${A} ended before it had come up (no kernel), as others did 2 times in a row: the next is made at ` +
        '1970-01-01T00:16:50.000Z, and all that are missing once one has come up or the template has changed',
      lastTransitionTime: '1970-01-01T00:16:39.500Z',
    });
  });

  test('makes one VMI, and another each time the delay has passed again', () => {
    const now = T + 10_000;
    const first = plan([], { starts: failed(), now });
    expect(made(first.steps)).toEqual([A]);
    expect(first.starts).toMatchObject({ inARow: 2, retryAt: now + 10_000 });
    const starting = anInstance(A, { phase: 'Scheduling', ready: false, runningSince: null, createdAt: now });
    const waiting = plan([starting], { starts: first.starts, now: now + 9_999 });
    expect(made(waiting.steps)).toEqual([]);
    expect(waiting.requeueAt).toBe(now + 10_000);
    expect(made(plan([starting], { starts: first.starts, now: now + 10_000 }).steps)).toEqual([B]);
  });

  test('counts VMIs that were made before the delay was over as one failure', () => {
    const { starts } = plan([aFailedStart(A), aFailedStart(B)]);
    expect(starts?.inARow).toBe(1);
    const held = failed();
    for (const createdAt of [0, T, T + 9_000])
      expect(plan([aFailedStart(A, createdAt)], { starts: held, now: T + 9_500 }).starts).toEqual(held);
  });

  test('doubles the delay if a VMI that was made since fails too', () => {
    const now = T + 12_000;
    const { starts } = plan([aFailedStart(A, T + 11_000)], { starts: failed(), now });
    expect(starts).toMatchObject({ inARow: 3, since: T, retryAt: now + 20_000 });
  });

  test('makes all missing VMIs once one has come up', () => {
    const up = anInstance(A, { createdAt: T + 10_000, runningSince: T + 11_000, readySince: T + 11_000 });
    const early = plan([up], { starts: failed({ retryAt: T + 50_000 }), now: T + 20_999 });
    expect(made(early.steps)).toEqual([]);
    expect(early.requeueAt).toBe(T + 21_000);
    const { steps, starts, status } = plan([up], { starts: failed(), now: T + 21_000 });
    expect(made(steps)).toEqual([B, C]);
    expect(starts).toBeNull();
    expect(conditionOf(status, 'ReplicaFailure')).toBeUndefined();
  });

  test('wakes when the first of several will have come up', () => {
    const { requeueAt: wakeAt } = plan([runsSince(A, T + 5_000), runsSince(B, T + 3_000), runsSince(C, T + 4_000)], {
      starts: failed(),
      now: T + 6_000,
    });
    expect(wakeAt).toBe(T + 13_000);
  });

  test.each<[string, Partial<VmiView>]>([
    ['is not ready', { ready: false }],
    ['is being deleted', { deleting: true }],
    ['is on a node that does not answer', { nodeLost: true }],
    ['has ended', { phase: 'Succeeded', endedAt: T + 12_000 }],
    ['does not run yet', { runningSince: null }],
  ])('has not come up if it %s', (_, fields) => {
    const vmi = anInstance(A, { createdAt: T, runningSince: T + 1_000, readySince: T + 1_000, ...fields });
    expect(plan([vmi], { starts: failed(), now: T + 15_000 }).starts).toMatchObject({ inARow: 2 });
  });

  test('ignores a VMI that came up before', () => {
    const old = anInstance(A, { runningSince: 0, readySince: 0 });
    expect(plan([old], { starts: failed(), now: T + 5_000 }).starts).toEqual(failed());
  });

  test('makes all missing VMIs once the template has changed, or the time that a start must last', () => {
    const template = { metadata: { labels: { app: 'web' } }, spec: { domain: { devices: {} } } };
    for (const spec of [{ template }, { minReadySeconds: 1 }]) {
      const set = anInstanceSet({ replicas: 3, ...spec }, { generation: 2 });
      expect(made(plan([], { starts: failed(), set }).steps)).toEqual([A, B, C]);
    }
  });

  test('keeps its delay with another number of VMIs, through a pause and after its end', () => {
    for (const spec of [{ replicas: 21 }, { replicas: 3, paused: false }]) {
      const planned = plan([], { starts: failed(), set: anInstanceSet(spec, { generation: 2 }) });
      expect(made(planned.steps)).toEqual([]);
      expect(planned.starts).toEqual(failed());
    }
  });

  test('does not wake for the next try while it is full or paused', () => {
    expect(waits({ replicas: 2 })).toBe(T + 10_000);
    expect(waits({ replicas: 1 })).toBeNull();
    expect(waits({ replicas: 2, paused: true })).toBeNull();
  });

  test('reports a refusal of the API server first', () => {
    const { status } = plan([], {
      starts: failed(),
      backoffs: backoffFor('FailedCreate', { failure: aFailure('FailedCreate') }),
    });
    expect(conditionOf(status, 'ReplicaFailure')).toMatchObject({ reason: 'FailedCreate' });
  });
});

const ended = (ranMs: number, fields: Partial<VmiView> = {}) =>
  anInstance(A, { phase: 'Succeeded', ready: false, runningSince: 0, endedAt: ranMs, ...fields });
const fails = (vmi: VmiView, minReadySeconds = 0): boolean =>
  plan([vmi], { set: anInstanceSet({ replicas: 1, minReadySeconds }) }).starts !== null;

describe('a VMI that has started', () => {
  test('has come up once it has run for 10 s, or as long as minReadySeconds and its liveness probe ask for', () => {
    expect([fails(ended(9_999)), fails(ended(10_000))]).toEqual([true, false]);
    expect([fails(ended(29_999), 30), fails(ended(30_000), 30)]).toEqual([true, false]);
    const probed = (ranMs: number) => ended(ranMs, { probationMs: 66_000 });
    expect([fails(probed(65_999)), fails(probed(66_000))]).toEqual([true, false]);
  });

  test('is judged by when it was last ready if KubeVirt does not say when it ended', () => {
    expect(fails(ended(0, { endedAt: null, readySince: 9_999 }))).toBe(true);
    expect(fails(ended(0, { endedAt: null, readySince: 10_000 }))).toBe(false);
  });

  test('has not failed if a user deletes it while it starts', () => {
    expect(fails(ended(0, { deleting: true }))).toBe(false);
  });
});

/** Plays a template that never comes up: each VMI ends after a while, and is gone a while after it was deleted. */
function playBadTemplate({
  replicas,
  endsMs,
  goneMs,
  hours,
  scaledEveryMs = Infinity,
}: Record<'replicas' | 'endsMs' | 'goneMs' | 'hours', number> & { scaledEveryMs?: number }) {
  const vmis = new Map<string, { vmi: VmiView; endsAt: number; goneAt: number }>();
  let starts: FailedStarts | null = null;
  let count = 0;
  let most = 0;
  let wakeAt: number | null = 0;
  for (let now = 0; now < hours * 3_600_000 && count < 1_000;) {
    for (const [name, one] of vmis) {
      if (one.goneAt <= now) vmis.delete(name);
      else if (one.endsAt <= now) one.vmi = { ...one.vmi, phase: 'Failed', endedAt: one.endsAt };
    }
    // As an autoscaler does: each change makes another generation of the spec.
    const scaled = Math.floor(now / scaledEveryMs);
    const set = anInstanceSet({ replicas: replicas + (scaled % 2) }, { generation: 1 + scaled });
    const planned = plan(
      [...vmis.values()].map(({ vmi }) => vmi),
      { set, starts, now },
    );
    ({ starts, requeueAt: wakeAt } = planned);
    for (const name of deleted(planned.steps)) {
      const one = vmis.get(name)!;
      vmis.set(name, { ...one, vmi: { ...one.vmi, deleting: true }, goneAt: now + goneMs });
    }
    for (const name of made(planned.steps)) {
      expect(vmis.has(name)).toBe(false);
      const vmi = anInstance(name, { phase: 'Scheduled', ready: false, runningSince: null, createdAt: now });
      vmis.set(name, { vmi, endsAt: now + endsMs, goneAt: Infinity });
      count++;
    }
    most = Math.max(most, vmis.size);
    const times = [...vmis.values()].flatMap(({ vmi, endsAt, goneAt }) => [vmi.phase === 'Failed' ? goneAt : endsAt]);
    const nextScale = scaledEveryMs === Infinity ? Infinity : (scaled + 1) * scaledEveryMs;
    now = Math.max(Math.min(wakeAt ?? Infinity, nextScale, ...times), now + 1);
    if (now === Infinity) break;
  }
  return { count, most };
}

const ms = (max: number) => fc.integer({ min: 1, max });

test('a template that never comes up makes few VMIs, however many are wanted, and the set keeps trying', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 40 }), ms(60_000), ms(120_000), (replicas, endsMs, goneMs) => {
      const { count, most } = playBadTemplate({ replicas, endsMs, goneMs, hours: 3 });
      // All of them twice; then 5 in the first 5 minutes, and 12 an hour, and as many again while others start.
      expect(count).toBeLessThanOrEqual(2 * replicas + 5 + 3 * 12 * 2);
      expect(count).toBeGreaterThanOrEqual(2 * replicas + 20);
      expect(most).toBeLessThanOrEqual(2 * replicas + 12);
    }),
    { numRuns: 100 },
  );
});

test('a template that never comes up makes few VMIs even if an autoscaler changes their number all the time', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 40 }),
      ms(60_000),
      ms(120_000),
      fc.integer({ min: 5_000, max: 300_000 }),
      (replicas, endsMs, goneMs, scaledEveryMs) => {
        const { count } = playBadTemplate({ replicas, endsMs, goneMs, scaledEveryMs, hours: 3 });
        // As above, and those that a scale-in takes before they have failed, which prove nothing.
        expect(count).toBeLessThanOrEqual(2 * (replicas + 1) + 25 + 3 * 12 * 2);
      },
    ),
    { numRuns: 25 },
  );
});
