import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Backoff, Backoffs, FailureReason } from '../../../decisions/owners/failures.ts';
import { planReplicaSet, planVmiSet, type ReplicaSetPlan } from '../../../decisions/replica-sets/plan.ts';
import type { FailedStarts } from '../../../decisions/replica-sets/start-backoff.ts';
import { aFailure } from '../fixtures/backoffs.ts';
import { aVmi } from '../fixtures/fleets.ts';
import { aMember, anInstance, anInstanceSet, aSet, calm, still } from './sets.ts';

const NOW = Date.parse('2026-01-01T00:10:00Z');
const REASONS = ['FailedCreate', 'FailedDelete', 'FailedAdopt', 'FailedRelease'] as const;

/** A member, or one that may become one. */
interface One {
  number: number;
  deleting: boolean;
  isMatched: boolean;
  isControlled: boolean;
  /** Of a VMI: it has ended, or nobody knows whether it runs. */
  phase: 'Running' | 'Failed' | 'Lost';
}

const anyone: fc.Arbitrary<One> = fc.record({
  number: fc.integer({ min: 1, max: 8 }),
  deleting: fc.boolean(),
  isMatched: fc.oneof({ weight: 3, arbitrary: fc.constant(true) }, fc.constant(false)),
  isControlled: fc.oneof({ weight: 3, arbitrary: fc.constant(true) }, fc.constant(false)),
  phase: fc.oneof({ weight: 3, arbitrary: fc.constant<One['phase']>('Running') }, fc.constantFrom('Failed', 'Lost')),
});

const anyBackoffs: fc.Arbitrary<Backoffs> = fc
  .tuple(...REASONS.map((reason) => fc.option(aBackoff(reason), { freq: 3 })))
  .map((all) => Object.fromEntries(all.flatMap((one, index) => (one === null ? [] : [[REASONS[index], one]]))));

function aBackoff(reason: FailureReason): fc.Arbitrary<Backoff> {
  return fc
    .record({ names: fc.subarray(['web-1', 'web-2', 'web-3']), isDelayed: fc.boolean(), isGeneral: fc.boolean() })
    .map((refused) => ({
      failure: aFailure(reason),
      allowance: refused.isGeneral ? Number(!refused.isDelayed) : null,
      refused,
    }));
}

const anyStarts: fc.Arbitrary<Pick<FailedStarts, 'inARow' | 'retryAt'> | null> = fc.option(
  fc.record({ inARow: fc.integer({ min: 1, max: 5 }), retryAt: fc.integer({ min: NOW - 20_000, max: NOW + 20_000 }) }),
  { freq: 2 },
);

interface Doing {
  creating: string[];
  deleting: string[];
}

const anyCase = fc.record({
  replicas: fc.integer({ min: 0, max: 5 }),
  all: fc.uniqueArray(anyone, { selector: ({ number }) => number, maxLength: 4 }),
  creating: fc.subarray(['web-1', 'web-9']),
  deleting: fc.subarray(['web-2', 'web-3']),
  uncertain: fc.subarray(['web-4', 'web-10']),
  backoffs: fc.oneof(fc.constant<Backoffs>({}), anyBackoffs),
  starts: anyStarts,
  burst: fc.constantFrom(1, 2, 250),
});
type Case = typeof anyCase extends fc.Arbitrary<infer T> ? T : never;

const labelsOf = ({ isMatched }: One): Record<string, string> => ({ app: isMatched ? 'web' : 'debug' });
const timesOf = ({ deleting, number }: One) => ({
  deleting,
  leavingSince: deleting ? NOW - 1_000 : null,
  createdAt: NOW - 100_000 - number * 1_000,
});

const ofVms = ({ all, replicas, ...more }: Case, inProgress: Doing): ReplicaSetPlan => {
  const members = all.map((one) => ({
    ...aMember(`web-${one.number}`, { ...timesOf(one), ownLabels: labelsOf(one) }),
    ...(one.isControlled ? {} : { owner: null }),
  }));
  return planReplicaSet({
    ...still,
    ...more,
    inProgress,
    now: NOW,
    set: aSet({ replicas }),
    vms: members.filter(({ owner }) => owner !== null),
    uncontrolled: members.filter(({ owner }) => owner === null),
    vmiOf: (vm) => aVmi(vm),
  });
};

const ofVmis = ({ all, replicas, starts, ...more }: Case, inProgress: Doing): ReplicaSetPlan => {
  const set = anInstanceSet({ replicas });
  const members = all.map((one) => ({
    ...anInstance(`web-${one.number}`, {
      ...timesOf(one),
      labels: labelsOf(one),
      ...(one.isControlled ? {} : { owner: null }),
      ...(one.phase === 'Failed' ? { phase: 'Failed' as const, ready: false, endedAt: NOW - 5_000 } : {}),
      ...(one.phase === 'Lost' ? { nodeLost: true } : {}),
    }),
  }));
  const input = {
    ...calm,
    ...more,
    inProgress,
    now: NOW,
    set,
    vmis: members.filter(({ standalone }) => standalone?.owner !== null),
    uncontrolled: members.filter(({ standalone }) => standalone?.owner === null),
  };
  if (starts === null) return planVmiSet(input);
  // The hash of the spec is the plan's own: failures of another are of no account.
  const { specHash } = planVmiSet({ ...input, vmis: [aFailedOne()] }).starts!;
  const before = { ...starts, since: NOW - 60_000, seenAt: NOW - 30_000, specHash, vmi: 'web-1', message: null };
  return planVmiSet({ ...input, starts: before });
};

const aFailedOne = () =>
  anInstance('web-1', { phase: 'Failed', ready: false, createdAt: NOW - 1_000, runningSince: null, endedAt: NOW });

const namesIn = (steps: ReplicaSetPlan['steps']): string[] =>
  steps.flatMap((step) => {
    if (step.kind === 'createReplicas') return step.names;
    return 'vms' in step ? step.vms.map(({ name }) => name) : [];
  });

const KINDS = [
  ['VMs', ofVms, ({ all }: Case) => all.filter(({ isControlled, deleting }) => isControlled || !deleting)],
  ['VMIs', ofVmis, ({ all }: Case) => all.filter(({ deleting, phase }) => !deleting && phase === 'Running')],
] as const;

describe.each(KINDS)('a set of %s', (_what, planOf, present) => {
  test('has a step for the members that it lacks, says why it has none, or wakes by itself', () => {
    fc.assert(
      fc.property(anyCase, (given) => {
        const { replicas, creating, deleting, burst } = given;
        const { steps, failures, requeueAt: wakeAt } = planOf(given, { creating, deleting });
        // What is begun tells how it ends, and what holds a place is heard of when it leaves.
        const there = new Set([...present(given).map(({ number }) => `web-${number}`), ...creating]).size;
        const isBusy = deleting.length > 0 || creating.length >= burst;
        const isMoving = steps.length > 0 || failures.length > 0 || wakeAt !== null || isBusy;
        expect(there >= replicas || isMoving).toBe(true);
        if (wakeAt !== null) expect(wakeAt).toBeGreaterThan(NOW);
      }),
      { numRuns: 500 },
    );
  });

  test('plans nothing for a member that an earlier step works on, and nothing twice', () => {
    fc.assert(
      fc.property(anyCase, (given) => {
        const { creating, deleting } = given;
        const { steps } = planOf(given, { creating, deleting });
        const come = namesIn(steps.filter(({ kind }) => kind === 'createReplicas' || kind === 'adopt'));
        const leave = namesIn(steps.filter(({ kind }) => kind !== 'createReplicas' && kind !== 'adopt'));
        const planned = [...come, ...leave];
        expect(new Set(planned).size).toBe(planned.length);
        const doing = { creating: [...creating, ...come], deleting: [...deleting, ...leave] };
        const again = namesIn(planOf(given, doing).steps);
        expect(again.filter((name) => planned.includes(name))).toEqual([]);
        for (const name of creating) expect(come).not.toContain(name);
        for (const name of deleting) expect(leave).not.toContain(name);
      }),
      { numRuns: 500 },
    );
  });
});
