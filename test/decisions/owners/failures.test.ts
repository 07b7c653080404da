import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ORPHAN_FINALIZER } from '../../../api/labels-and-annotations.ts';
import type { ScaleInStrategy, Standby } from '../../../api/pool/pool.ts';
import { newCycle, noHealing, type Cycle } from '../../../decisions/healing/state.ts';
import {
  failureOf,
  replicaFailure,
  withoutDelayed,
  type Backoffs,
  type FailureReason,
} from '../../../decisions/owners/failures.ts';
import { housekeepingOf } from '../../../decisions/owners/housekeeping.ts';
import type { PoolPlanInput } from '../../../decisions/pool/plan-input.ts';
import { planPool } from '../../../decisions/pool/plan.ts';
import { planReplicaSet, planVmiSet } from '../../../decisions/replica-sets/plan.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import { aFailure, failed } from '../fixtures/backoffs.ts';
import { anyVm, aPool, aVm, quiet } from '../fixtures/fleets.ts';
import { aMember, anInstance, anInstanceSet, aSet, calm, still } from '../replica-sets/sets.ts';

/** Any member of a pool: a replica, a standby VM or an extra one, that may be leaving with its disks kept. */
const anyMember = (number: number): fc.Arbitrary<VmView> =>
  fc
    .tuple(
      anyVm(number),
      fc.record({
        role: fc.constantFrom(null, null, 'Standby', 'Surge'),
        standby: fc.constantFrom(null, 'Stopped', 'Paused'),
        keepsDisks: fc.boolean(),
      }),
    )
    .map(([vm, fields]) => ({ ...vm, ...(fields as Partial<VmView>), namespace: 'shop' }));

const anyMembers: fc.Arbitrary<VmView[]> = fc
  .uniqueArray(fc.integer({ min: 1, max: 12 }), { maxLength: 8 })
  .chain((numbers) => fc.tuple(...numbers.map(anyMember)));

const anyStrategy = fc.constantFrom<ScaleInStrategy>(
  {},
  { unmanaged: {} },
  { opportunistic: {} },
  { proactive: { statePreservation: 'Offline' } },
);

const anyStandby: fc.Arbitrary<Standby | undefined> = fc.oneof(
  fc.constant(undefined),
  fc.record({ replicas: fc.nat(4), state: fc.constantFrom('Stopped', 'Paused') }),
);

const anyCycles: fc.Arbitrary<Cycle[]> = fc
  .uniqueArray(fc.integer({ min: 1, max: 12 }), { maxLength: 2 })
  .chain((numbers) => fc.tuple(...numbers.map(anyCycle)));

const anyCycle = (number: number): fc.Arbitrary<Cycle> =>
  fc
    .tuple(
      fc.constantFrom<Cycle['phase']>('Removing', 'Waiting', 'Provisioning'),
      fc.constantFrom<Pick<Cycle, 'role'>>({}, {}, { role: 'Standby' }),
    )
    .map(([phase, role]) => ({
      ...newCycle({ name: `web-${number}`, uid: `old-${number}`, attempt: 1, message: '', ...role }, quiet.now),
      phase,
    }));

const anyPool: fc.Arbitrary<PoolPlanInput> = fc
  .record({
    vms: anyMembers,
    replicas: fc.nat(8),
    standby: anyStandby,
    scaleInStrategy: anyStrategy,
    cycles: anyCycles,
    finalizers: fc.constantFrom<string[] | undefined>(undefined, undefined, undefined, []),
    isDeleted: fc.constantFrom(false, false, false, true),
    isOrphaned: fc.boolean(),
    hasUpdate: fc.boolean(),
  })
  .map(({ vms, replicas, standby, scaleInStrategy, cycles, finalizers, isDeleted, isOrphaned, hasUpdate }) => {
    const spec = { replicas, scaleInStrategy, autohealing: {}, ...(standby === undefined ? {} : { standby }) };
    const pool = aPool({ ...spec, ...(hasUpdate ? { maxSurge: 2, maxUnavailable: 0 } : {}) });
    if (finalizers !== undefined) pool.metadata.finalizers = finalizers;
    if (isDeleted) pool.metadata.deletionTimestamp = '2026-01-01T00:00:00Z';
    if (isDeleted && isOrphaned) pool.metadata.finalizers!.push(ORPHAN_FINALIZER);
    const old = vms.map((vm, index) => (hasUpdate && index % 2 === 0 ? { ...vm, revision: 'older' } : vm));
    const present = new Set(vms.map(({ name }) => name));
    const healing = { ...noHealing, cycles: cycles.filter(({ vm }) => !present.has(vm)) };
    return { ...quiet, pool, vms: old, healing, burst: 250 };
  });

const reasonsOf = (steps: readonly { kind: string }[]): Set<FailureReason> =>
  new Set(steps.map(failureOf).filter((reason) => reason !== null));

/**
 * Checks that each step of a plan, once it has been refused, keeps its failure standing, and is not in the next plan:
 * else it would be tried again at once, and without end.
 */
function checkEach(
  names: readonly string[],
  plan: (backoffs: Backoffs) => { steps: readonly { kind: string }[]; failures: readonly { reason: FailureReason }[] },
): void {
  for (const reason of reasonsOf(plan({}).steps)) {
    const isOfVms = reason !== 'FailedFinalizer' && housekeepingOf(reason) === undefined;
    const limits = [{ allowance: 0 }, ...(isOfVms ? [{ refused: { names, isDelayed: true } }] : [])];
    for (const limit of limits) {
      const { steps, failures } = plan(failed(reason, limit));
      expect(failures.map((failure) => failure.reason)).toEqual([reason]);
      expect([...reasonsOf(steps)]).not.toContain(reason);
    }
  }
}

describe('a failure stands while its item waits and a plan without it would have the step', () => {
  test('in any pool', () =>
    fc.assert(
      fc.property(anyPool, (input) => {
        // Any name may be one that is created.
        const names = Array.from({ length: 60 }, (_, index) => `web-${index}`);
        checkEach(names, (backoffs) => planPool({ ...input, backoffs }));
      }),
      { numRuns: 400 },
    ));

  const anySet = fc.record({
    replicas: fc.nat(4),
    members: fc.uniqueArray(fc.integer({ min: 0, max: 7 }), { maxLength: 7 }),
    unmatched: fc.nat(7),
    deleting: fc.nat(7),
    orphan: fc.boolean(),
    isDeleted: fc.boolean(),
    finalizers: fc.constantFrom<object>({}, {}, { finalizers: [] }),
  });
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((letter) => `web-${letter}`);

  test('in any set of VMs', () =>
    fc.assert(
      fc.property(anySet, ({ replicas, members, unmatched, deleting, orphan, isDeleted, finalizers }) => {
        const set = aSet({ replicas }, { ...finalizers, ...(isDeleted ? { deletionTimestamp: 'now' } : {}) });
        const vms = members.map((n) =>
          aMember(names[n]!, { deleting: n === deleting, ...(n === unmatched ? { ownLabels: {} } : {}) }),
        );
        const uncontrolled = orphan ? [aMember('lone', { owner: null })] : [];
        const made = planReplicaSet({ ...still, set, vms, uncontrolled }).steps.flatMap((step) =>
          step.kind === 'createReplicas' ? step.names : [],
        );
        const all = [...names, ...made, 'lone'];
        checkEach(all, (backoffs) => planReplicaSet({ ...still, set, vms, uncontrolled, backoffs, burst: 4 }));
      }),
    ));

  test('in any set of VMIs', () =>
    fc.assert(
      fc.property(anySet, ({ replicas, members, unmatched, deleting, orphan, isDeleted, finalizers }) => {
        const set = anInstanceSet({ replicas }, { ...finalizers, ...(isDeleted ? { deletionTimestamp: 'now' } : {}) });
        const vmis = members.map((n) =>
          anInstance(names[n]!, {
            ...(n === unmatched ? { labels: {} } : {}),
            ...(n === deleting ? { phase: 'Succeeded' } : {}),
          }),
        );
        const uncontrolled = orphan
          ? [{ ...anInstance('lone'), standalone: { owner: null, labels: { app: 'web' } } }]
          : [];
        checkEach(names, (backoffs) =>
          planVmiSet({ ...calm, set, vmis, uncontrolled, backoffs: allowanceAlone(backoffs) }),
        );
      }),
    ));
});

/** Names that VMIs get are refused by no test here. */
const allowanceAlone = (backoffs: Backoffs): Backoffs =>
  Object.fromEntries(Object.entries(backoffs).map(([reason, backoff]) => [reason, { ...backoff, allowance: 0 }]));

describe('a failure', () => {
  test('passes once no failed item is due', () => {
    const pool = aPool({ replicas: 1 });
    const plan = (vms: VmView[]) => planPool({ ...quiet, pool, vms, burst: 250, backoffs: failed('FailedDelete') });
    expect(plan([aVm('web-1'), aVm('web-2')]).failures).toEqual([aFailure('FailedDelete')]);
    expect(plan([aVm('web-1')]).failures).toEqual([]);
  });

  test('stays while the item is being tried again', () => {
    const input = { ...quiet, pool: aPool({ replicas: 1 }), vms: [aVm('web-1')], burst: 250 };
    const inProgress = { creating: [], deleting: ['web-2'] };
    expect(planPool({ ...input, backoffs: failed('FailedDelete'), inProgress }).failures).toHaveLength(1);
  });

  test('stays if the item only lacks room because of others', () => {
    const vms = [aVm('web-1'), aVm('web-2'), aVm('web-3', { deleting: true })];
    const input = { ...quiet, pool: aPool({ replicas: 1 }), vms, burst: 1 };
    expect(planPool({ ...input, backoffs: failed('FailedDelete') }).failures).toHaveLength(1);
  });
});

test('the status has the most important failure, and reports all', () => {
  const [condition] = replicaFailure([aFailure('FailedDelete', 'protected'), aFailure('FailedCreate', 'no quota')]);
  expect(condition).toMatchObject({
    type: 'ReplicaFailure',
    status: 'True',
    reason: 'FailedCreate',
    message: 'no quota; FailedDelete: protected',
  });
  expect(replicaFailure([aFailure('FailedDelete', 'one; two')])[0]?.message).toBe('one; two');
  expect(replicaFailure([])).toEqual([]);
});

const namesOf = (items: readonly { name: string }[] = []): string[] => items.map(({ name }) => name);

test('VMs and claims that housekeeping could not write come after all others', () => {
  const named = ['a', 'b', 'c'].map((name) => ({ name }));
  const backoffs = {
    ...failed('FailedLabel', { refused: { names: ['a'], isDelayed: false } }),
    ...failed('FailedUnlabelKeptDisks', { refused: { names: ['b'], isDelayed: false } }),
  };
  const tried = withoutDelayed({ backoffs }, [
    { kind: 'addLabels', vms: named },
    { kind: 'unlabelKeptDisks', claims: named },
  ]);
  expect(tried.map(({ vms, claims }) => namesOf(vms ?? claims))).toEqual([
    ['b', 'c', 'a'],
    ['a', 'c', 'b'],
  ]);
});
