import { describe, expect, test } from 'vitest';
import { ORPHAN_FINALIZER, REPLICA_SET_FINALIZER } from '../../../api/labels-and-annotations.ts';
import type { VmiSetSpec } from '../../../api/replica-set/replica-set.ts';
import { containedVmiSetPlan } from '../../../decisions/replica-sets/contained-plan.ts';
import type { VmiSetInput } from '../../../decisions/replica-sets/plan-input.ts';
import { planVmiSet } from '../../../decisions/replica-sets/plan.ts';
import { isActiveVmi } from '../../../decisions/replica-sets/replica.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { aFailure, backoffFor, failed } from '../fixtures/backoffs.ts';
import { anInstance, anInstanceSet, calm } from './sets.ts';
import { conditionOf, deleted, made, namesIn, namesOf } from './steps.ts';

const [A, B, C, D] = namesOf(4) as [string, string, string, string];

const plan = (spec: Partial<VmiSetSpec>, vmis: VmiView[], input: Partial<VmiSetInput> = {}) =>
  planVmiSet({ ...calm, now: 1_000_000, ...input, set: anInstanceSet(spec), vmis });

/** Those that hold no place. Each had run long before. */
const GONE: Record<string, Partial<VmiView>> = {
  'has failed': { phase: 'Failed', ready: false, endedAt: 900_000 },
  'has succeeded': { phase: 'Succeeded', ready: false, endedAt: 900_000 },
  'has lost its pod': { podTerminating: true, ready: false, readySince: 900_000 },
  'is being deleted': { deleting: true },
  'is on a node that does not answer': { nodeLost: true },
  'has lost its pod on a node that does not answer': { nodeLost: true, podTerminating: true },
};

describe('a place in a set', () => {
  test.each(Object.entries(GONE))('is not held by a VMI that %s', (_, fields) => {
    expect(isActiveVmi(anInstance(A, fields))).toBe(false);
  });

  test('is held by a VMI that is ready, by a VMI that is not, and by one that migrates', () => {
    expect(isActiveVmi(anInstance(A))).toBe(true);
    expect(isActiveVmi(anInstance(A, { migration: { name: 'm', phase: 'Running', createdAt: 0 }, ready: false }))).toBe(
      true,
    );
    expect(isActiveVmi(anInstance(A, { ready: false, phase: 'Scheduling', runningSince: null }))).toBe(true);
  });
});

describe('scale-out', () => {
  test('makes VMIs for the places that nothing holds', () => {
    expect(made(plan({ replicas: 3 }, []).steps)).toEqual([A, B, C]);
    expect(made(plan({ replicas: 3 }, [anInstance(B)]).steps)).toEqual([A, C]);
    expect(plan({ replicas: 1 }, [anInstance(A)]).steps).toEqual([]);
  });

  test.each(Object.entries(GONE))('replaces one that %s at once, under another name', (_, fields) => {
    const { steps, status, phase } = plan({ replicas: 2 }, [anInstance(A, fields), anInstance(B)]);
    expect(made(steps)).toEqual([C]);
    expect(status).toMatchObject({ replicas: 1, readyReplicas: 1, availableReplicas: 1 });
    expect(conditionOf(status, 'Progressing')).toMatchObject({ status: 'True', reason: 'ScalingOut' });
    expect(phase).toBe('ScalingOut');
  });

  test('does not replace a VMI that is only not ready, however long', () => {
    const starting = { ready: false, runningSince: null };
    expect(plan({ replicas: 1 }, [anInstance(A, { ...starting, phase: 'Scheduling' })]).steps).toEqual([]);
    expect(plan({ replicas: 1 }, [anInstance(A, { ready: false })]).steps).toEqual([]);
    expect(plan({ replicas: 1 }, [anInstance(A, { ready: false })]).phase).toBe('Starting');
  });

  test('makes as many VMIs at once as the burst cap and a failure leave, and under no name in use', () => {
    expect(made(plan({ replicas: 99 }, [], { burst: 2 }).steps)).toEqual([A, B]);
    expect(made(plan({ replicas: 99 }, [], { backoffs: backoffFor('FailedCreate', { allowance: 1 }) }).steps)).toEqual([
      A,
    ]);
    expect(made(plan({ replicas: 2 }, [], { isVmNameTaken: (name) => name === A }).steps)).toEqual([B, C]);
  });

  test('tries first the names of VMIs that may have been made', () => {
    expect(made(plan({ replicas: 2 }, [], { uncertain: [C] }).steps)).toEqual([C, A]);
    expect(plan({ replicas: 2 }, [anInstance(C, { deleting: true })], { uncertain: [C] }).uncertain).toEqual([]);
  });
});

describe('scale-in', () => {
  test.each(['has failed', 'has succeeded', 'has lost its pod'])('cleans up a VMI that %s', (how) => {
    const { steps } = plan({ replicas: 1 }, [anInstance(A, GONE[how]), anInstance(B)]);
    expect(steps).toMatchObject([{ kind: 'delete', because: 'Ended', vms: [{ name: A }] }]);
  });

  test('leaves alone a VMI that is already leaving, or is on a node that does not answer, from which it may come back', () => {
    for (const how of ['is being deleted', 'is on a node that does not answer'])
      expect(deleted(plan({ replicas: 1 }, [anInstance(A, GONE[how]), anInstance(B)]).steps)).toEqual([]);
    const back = [anInstance(A, { createdAt: 1 }), anInstance(B, { createdAt: 2 })];
    expect(deleted(plan({ replicas: 1 }, back).steps)).toEqual([B]);
  });

  test('takes VMIs that are not ready before those that migrate or are drained, then ready ones, and then the newest', () => {
    const vmis = [
      anInstance('old', { createdAt: 1 }),
      anInstance('new', { createdAt: 3 }),
      anInstance('migrates', { createdAt: 1, migration: { name: 'm', phase: 'Running', createdAt: 0 } }),
      anInstance('drained', { createdAt: 0, nodeDrained: true }),
      anInstance('starts', { createdAt: 1, ready: false, phase: 'Scheduling' }),
      anInstance('starts later', { createdAt: 2, ready: false, phase: 'Pending' }),
    ];
    const order = ['starts later', 'starts', 'migrates', 'drained', 'new', 'old'];
    for (let left = 0; left <= vmis.length; left++)
      expect(deleted(plan({ replicas: left }, vmis).steps)).toEqual(order.slice(0, 6 - left));
  });

  test('takes no more than the surplus, not counting VMIs that are already leaving', () => {
    const vmis = [A, B, C, D].map((name) => anInstance(name));
    const inProgress = { creating: [], deleting: [D] };
    expect(deleted(plan({ replicas: 3 }, vmis, { inProgress }).steps)).toEqual([]);
    expect(deleted(plan({ replicas: 0 }, vmis, { burst: 3 }).steps)).toHaveLength(3);
  });
});

const lone = (name: string, fields: Partial<VmiView> & { labels?: Record<string, string> } = {}) =>
  anInstance(name, { owner: null, ...fields });

describe('the selector of a set', () => {
  test('adopts a matching VMI without a controller, which holds a place from the start', () => {
    const { steps } = plan({ replicas: 2 }, [anInstance(A)], { uncontrolled: [lone('else')] });
    expect(steps).toMatchObject([{ kind: 'adopt', vms: [{ name: 'else' }] }]);
  });

  test('leaves alone a VMI that does not match, has ended, or is being deleted', () => {
    const uncontrolled = [
      lone('other', { labels: {} }),
      lone('going', { deleting: true }),
      lone('ended', GONE['has failed']),
    ];
    expect(plan({ replicas: 1 }, [anInstance(A)], { uncontrolled }).steps).toEqual([]);
  });

  test('releases a VMI that no longer matches, which is replaced at once', () => {
    const { steps, status } = plan({ replicas: 1 }, [anInstance(A, { labels: { app: 'other' } })]);
    expect(namesIn(steps, 'release')).toEqual([A]);
    expect(made(steps)).toEqual([B]);
    expect(status?.replicas).toBe(0);
  });
});

test('releases and adopts in a paused set too, which makes and deletes nothing', () => {
  const vmis = [anInstance(A, GONE['has failed']), anInstance(B, { labels: {} })];
  const uncontrolled = [anInstance('else', { owner: null })];
  const { steps, phase } = plan({ replicas: 9, paused: true }, vmis, { uncontrolled });
  expect(steps.map(({ kind }) => kind)).toEqual(['release', 'adopt']);
  expect(phase).toBe('Paused');
});

const planOf = (finalizers: string[], vmis: VmiView[]) =>
  planVmiSet({
    ...calm,
    set: anInstanceSet({}, { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers }),
    vmis,
  }).steps;

describe('a set that is deleted', () => {
  test('takes its VMIs down first', () => {
    expect(planOf([REPLICA_SET_FINALIZER], [anInstance(A)])).toMatchObject([
      { kind: 'delete', because: 'OwnerDeleted', vms: [{ name: A }] },
    ]);
    expect(planOf([REPLICA_SET_FINALIZER], [anInstance(A, { deleting: true })])).toEqual([]);
    expect(planOf([REPLICA_SET_FINALIZER], [])).toMatchObject([{ kind: 'removeFinalizer' }]);
  });

  test('releases its VMIs if they are to stay', () => {
    expect(planOf([REPLICA_SET_FINALIZER, ORPHAN_FINALIZER], [anInstance(A)])).toMatchObject([
      { kind: 'release', vms: [{ name: A }] },
    ]);
  });
});

describe('the status', () => {
  test('reports what holds a VMI, and what was replaced', () => {
    const vmis = [
      anInstance(A),
      anInstance(B, GONE['is being deleted']),
      anInstance(C, GONE['is on a node that does not answer']),
      anInstance(D, GONE['has failed']),
    ];
    const { status } = plan({ replicas: 1 }, vmis);
    expect(conditionOf(status, 'Progressing')?.message).toBe(
      `1 of 1 VMIs exist; ${B} being deleted, and replaced; on nodes that do not answer, and replaced: ${C}; ` +
        `ended, and to be deleted: ${D}`,
    );
    expect(conditionOf(status, 'Available')).toMatchObject({ status: 'True', message: '1 of 1 VMIs are available' });
  });

  test('counts a VMI as available once it has been ready for minReadySeconds, and wakes then', () => {
    const early = plan({ replicas: 1, minReadySeconds: 10 }, [anInstance(A)], { now: 4_000 });
    expect(early.status).toMatchObject({ readyReplicas: 1, availableReplicas: 0 });
    expect(early.requeueAt).toBe(10_000);
  });

  test('keeps a failure until it has passed', () => {
    const backoffs = failed('FailedCreate', { failure: aFailure('FailedCreate', 'no quota') });
    expect(conditionOf(plan({ replicas: 2 }, [anInstance(A)], { backoffs }).status, 'ReplicaFailure')).toMatchObject({
      reason: 'FailedCreate',
      message: 'no quota',
    });
    expect(plan({ replicas: 1 }, [anInstance(A)], { backoffs }).failures).toEqual([]);
  });

  test('reports that a plan failed', () => {
    const broken = {
      ...calm,
      set: anInstanceSet(),
      vmis: [],
      isVmNameTaken: () => {
        throw new Error('oh');
      },
    };
    const { plan: stalled, error } = containedVmiSetPlan(broken);
    expect(error?.message).toBe('oh');
    expect(conditionOf(stalled.status, 'Stalled')).toMatchObject({ reason: 'InternalError' });
  });
});
