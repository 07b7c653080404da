import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { PoolSpec, StandbyState } from '../../../../api/pool/pool.ts';
import type { PoolStep } from '../../../../decisions/owners/steps.ts';
import type { PoolPlanInput } from '../../../../decisions/pool/plan-input.ts';
import { planPool, type PoolPlan } from '../../../../decisions/pool/plan.ts';
import { isRegular, type VmView } from '../../../../decisions/views/vm.ts';
import { aFailure, backoffFor, failed } from '../../fixtures/backoffs.ts';
import { anyVm, aPool, aVm, aVmi, quiet, BY_USER } from '../../fixtures/fleets.ts';

const wanting = (replicas: number, standby: number, spec: Partial<PoolSpec> = {}, state: StandbyState = 'Stopped') =>
  aPool({ replicas, standby: { replicas: standby, state }, ...spec });

const plan = (pool: PoolPlanInput['pool'], vms: readonly VmView[], input: Partial<PoolPlanInput> = {}): PoolPlan =>
  planPool({ pool, vms, ...quiet, burst: 250, ...input });

const stopped = (n: number, fields: Partial<VmView> = {}): VmView =>
  aVm(`web-${n}`, {
    role: 'Standby',
    standby: 'Stopped',
    runStrategy: 'Halted',
    hasVmi: false,
    ready: false,
    state: 'Stopped',
    ...fields,
  });
const running = (n: number, fields: Partial<VmView> = {}): VmView =>
  aVm(`web-${n}`, { role: 'Standby', standby: 'Paused', ...fields });
const numbered = (from: number, to: number, of: (n: number) => VmView): VmView[] =>
  Array.from({ length: to - from + 1 }, (_, index) => of(from + index));
const replicas = (count: number): VmView[] => numbered(1, count, (n) => aVm(`web-${n}`));

const promoted = ({ steps }: PoolPlan): string[] =>
  steps.flatMap((step) => (step.kind === 'promoteStandby' ? step.vms.map(({ name }) => name) : []));
const created = ({ steps }: PoolPlan, role?: 'Standby'): number[] =>
  steps.flatMap((step) => (step.kind === 'create' && step.role === role ? step.numbers : []));
const deleted = ({ steps }: PoolPlan): string[] =>
  steps.flatMap((step) => (step.kind === 'delete' ? step.vms.map(({ name }) => name) : []));
const settled = ({ steps }: PoolPlan): Record<string, string[]> =>
  Object.fromEntries(
    steps
      .filter((step): step is Extract<PoolStep, { kind: 'setStandbyState' }> => step.kind === 'setStandbyState')
      .map(({ act, vms }) => [act, vms.map(({ name }) => name)]),
  );

/** The plan of a pool of one that is to have two, and has these standby VMs. */
const out = (vms: readonly VmView[], input: Partial<PoolPlanInput> = {}) =>
  plan(wanting(2, 1), [aVm('web-1'), ...vms], input);
const best = (...vms: VmView[]): string[] => promoted(out(vms));

const lately = (vm: VmView) => aVmi(vm, { readySince: vm.name === 'web-1' ? 0 : quiet.now - 4_000 });
const oneLost = (vm: VmView) => aVmi(vm, { pause: BY_USER, nodeLost: vm.name === 'web-2' });
const asPaused = (vm: VmView) => aVmi(vm, { pause: BY_USER, ready: false });

describe('a scale-out', () => {
  test('promotes standby VMs, and creates only what they do not cover; the standby is refilled afterwards', () => {
    const both = plan(wanting(6, 2), [...replicas(3), stopped(4), stopped(5)]);
    expect([promoted(both), created(both), created(both, 'Standby')]).toEqual([['web-4', 'web-5'], [6], []]);
    const after = plan(wanting(6, 2), replicas(6));
    expect([promoted(after), created(after), created(after, 'Standby')]).toEqual([[], [], [7, 8]]);
  });

  test('counts a VM that is being promoted as a replica', () => {
    const vms = [...replicas(3), stopped(4), stopped(5)];
    const again = plan(wanting(4, 1), vms, { inProgress: { creating: ['web-4'], deleting: [] } });
    expect([promoted(again), created(again), deleted(again)]).toEqual([[], [], []]);
    expect(again.status).toMatchObject({ replicas: 4, standbyReplicas: 1 });
  });

  test('prefers VMs that only have to start, then those of the newest revision, then those that run', () => {
    expect(best(stopped(2, { state: 'Provisioning' }), stopped(3))).toEqual(['web-3']);
    expect(best(stopped(2, { revision: 'older' }), stopped(3))).toEqual(['web-3']);
    expect(best(stopped(2), running(3))).toEqual(['web-3']);
    expect(best(stopped(2, { revision: 'older' }))).toEqual(['web-2']);
  });

  test('creates a VM if the standby VM is broken, is to be removed by name, or was just refused', () => {
    expect(created(out([stopped(2, { state: 'DataVolumeError' })]))).toEqual([3]);
    expect(
      created(
        out([stopped(2)], {
          backoffs: backoffFor('FailedPromote', { refused: { names: ['web-2'], isDelayed: true } }),
        }),
      ),
    ).toEqual([3]);
  });

  test('creates a VM if the node of the standby VM does not answer, which then cannot be promoted', () => {
    const found = out([running(2)], { vmiOf: oneLost });
    expect([promoted(found), created(found)]).toEqual([[], [3]]);
    expect(found.status).toMatchObject({ standbyReplicas: 1, readyStandbyReplicas: 0 });
    expect(promoted(out([running(2), running(3)], { vmiOf: oneLost }))).toEqual(['web-3']);
  });

  test('takes the next standby VM, or creates one, when a promotion has failed', () => {
    const refused = { names: ['web-2'], isDelayed: true };
    const next = out([running(2), running(3)], { backoffs: failed('FailedPromote', { refused }) });
    expect([promoted(next), created(next)]).toEqual([['web-3'], []]);
    const none = out([running(2)], { backoffs: failed('FailedPromote', { refused }) });
    expect([promoted(none), created(none)]).toEqual([[], [3]]);
    const again = out([running(2), running(3)], {
      backoffs: backoffFor('FailedPromote', { refused: { ...refused, isDelayed: false } }),
    });
    expect(promoted(again)).toEqual(['web-3']);
  });

  test('creates VMs while no promotion may be tried, since all may fail', () => {
    const pool = wanting(4, 3);
    const vms = [aVm('web-1'), stopped(2), stopped(3), stopped(4)];
    const after = (allowance: number) => plan(pool, vms, { backoffs: failed('FailedPromote', { allowance }) });
    expect([promoted(after(0)), created(after(0))]).toEqual([[], [5, 6, 7]]);
    expect([promoted(after(1)), created(after(1))]).toEqual([['web-2'], [5, 6]]);
    const burst = plan(pool, vms, { burst: 1 });
    expect([promoted(burst), created(burst)]).toEqual([['web-2'], []]);
  });

  test('waits for a standby VM that is reaching its state', () => {
    const vms = [aVm('web-1'), running(2)];
    const waiting = plan(wanting(2, 1, {}, 'Paused'), vms, {
      inProgress: { creating: [], deleting: [], standby: ['web-2'] },
    });
    expect([promoted(waiting), created(waiting)]).toEqual([[], []]);
  });
});

describe('a standby VM', () => {
  test('is created with its role, and without taking the numbers of others', () => {
    expect(created(plan(wanting(2, 2), replicas(2)), 'Standby')).toEqual([3, 4]);
    expect(created(plan(wanting(2, 2), [...replicas(2), stopped(4, { deleting: true })]), 'Standby')).toEqual([3]);
  });

  test('is not replaced while replicas are missing: the little room in a quota belongs to them', () => {
    const short = plan(wanting(3, 2), replicas(2));
    expect([created(short), created(short, 'Standby')]).toEqual([[3], []]);
  });

  test('does not delay replicas if it is refused', () => {
    const backoffs = failed('FailedStandby', { allowance: 0 });
    const refused = plan(wanting(3, 2), [...replicas(2), stopped(3)], { backoffs });
    expect(promoted(refused)).toEqual(['web-3']);
    expect(refused.status?.conditions?.find(({ type }) => type === 'ReplicaFailure')?.reason).toBe('FailedStandby');
    expect(created(plan(wanting(2, 2), replicas(2), { backoffs }), 'Standby')).toEqual([]);
    expect(plan(wanting(2, 1), [...replicas(2), stopped(3)], { backoffs }).failures).toEqual([]);
  });

  test('is still reported if it cannot be paused, and is tried again after the delay alone', () => {
    const backoffs = failed('FailedStandby', { refused: { names: ['web-2'], isDelayed: true } });
    const pool = wanting(1, 1, {}, 'Paused');
    const refused = plan(pool, [aVm('web-1'), running(2)], { backoffs });
    expect([refused.failures, settled(refused)]).toEqual([[aFailure('FailedStandby')], {}]);
    expect(plan(pool, [aVm('web-1'), running(2)], { backoffs, vmiOf: asPaused }).failures).toEqual([]);
  });

  test('leaves when fewer are wanted, and never in place of a replica', () => {
    const vms = [...replicas(3), stopped(4), stopped(5, { revision: 'older' })];
    expect(deleted(plan(wanting(3, 1), vms))).toEqual(['web-5']);
    expect(deleted(plan(wanting(2, 2), vms))).toHaveLength(1);
    expect(deleted(plan(wanting(2, 2), vms))).not.toContain('web-4');
    expect(deleted(plan(aPool({ replicas: 3 }), vms)).toSorted()).toEqual(['web-4', 'web-5']);
    expect(deleted(plan(wanting(3, 0), [...replicas(3), stopped(4, { protected: true })]))).toEqual([]);
  });

  test('keeps its disks if the pool does', () => {
    const scaleInStrategy = { proactive: { statePreservation: 'Offline' } } as const;
    const { steps } = plan(wanting(1, 0, { scaleInStrategy }), [aVm('web-1'), stopped(2), running(3)]);
    expect(steps).toMatchObject([
      { kind: 'delete', keepDisks: true, because: 'StandbySurplus' },
      { kind: 'halt', because: 'StandbySurplus' },
    ]);
  });

  test('is reported in the status, with the number of ready ones', () => {
    const vms = [...replicas(2), stopped(3), stopped(4, { state: 'Provisioning' })];
    expect(plan(wanting(2, 2), vms).status).toMatchObject({
      replicas: 2,
      standbyReplicas: 2,
      readyStandbyReplicas: 1,
    });
    expect(plan(aPool(), replicas(3)).status).not.toHaveProperty('standbyReplicas');
  });
});

describe('the state of standby VMs', () => {
  const paused = wanting(0, 3, { rollout: { minReadySeconds: 10 } }, 'Paused');

  test('is reached under Paused once VMs have been ready for minReadySeconds', () => {
    const found = plan(paused, [running(1), running(2)], {
      vmiOf: lately,
      backoffs: failed('FailedStandby', { allowance: 0 }),
    });
    expect(settled(found)).toEqual({});
    expect(plan(paused, [running(1), running(2)], { vmiOf: lately }).requeueAt).toBe(quiet.now + 6_000);
    expect(settled(plan(paused, [running(1), running(2)], { vmiOf: lately }))).toEqual({ pause: ['web-1'] });
    expect(settled(plan(paused, [running(1)], { vmiOf: asPaused }))).toEqual({});
  });

  test('is left under Stopped if a user has started the VM, and a VM in the other state is stopped', () => {
    const pool = wanting(0, 2);
    const started = stopped(1, { runStrategy: 'Always', hasVmi: true, ready: true, state: 'Running' });
    expect(settled(plan(pool, [started, running(2)]))).toEqual({ stop: ['web-2'] });
    expect(settled(plan(paused, [stopped(1)]))).toEqual({ start: ['web-1'] });
    expect(settled(plan(pool, [running(2, { optedOut: true })]))).toEqual({});
  });
});

describe('a standby VM that does not come up', () => {
  const failing = { ready: false, state: 'CrashLoopBackOff', startFailures: 3 };
  const pool = wanting(1, 2, { autohealing: {} }, 'Paused');

  test('is healed, and its successor is a standby VM as well, under its number', () => {
    const found = plan(pool, [aVm('web-1', { notYetRun: null }), running(2, failing), running(3)]);
    const [cycle] = found.healing.state.cycles;
    expect([cycle, found.status?.healing?.cycles[0]]).toMatchObject([
      { vm: 'web-2', role: 'Standby' },
      { vm: 'web-2', role: 'Standby' },
    ]);
    const later = (phase: 'Waiting' | 'Provisioning') =>
      plan(pool, [aVm('web-1', { notYetRun: null }), running(3)], {
        healing: { ...found.healing.state, cycles: [{ ...cycle!, phase }] },
      });
    expect([created(later('Waiting')), created(later('Waiting'), 'Standby')]).toEqual([[], []]);
    expect([created(later('Provisioning')), created(later('Provisioning'), 'Standby')]).toEqual([[], [2]]);
  });

  test('is not promoted meanwhile', () => {
    const healing = plan(pool, [aVm('web-1', { notYetRun: null }), running(2, failing), running(3)]).healing.state;
    const vms = [aVm('web-1', { notYetRun: null }), running(2), running(3)];
    const more = wanting(3, 2, { autohealing: {} }, 'Paused');
    expect(promoted(plan(more, vms, { healing }))).toEqual(['web-3']);
  });
});

test('a pool never has more replicas or standby VMs than it wants, and creates none that it can promote', () =>
  fc.assert(
    fc.property(
      fc
        .uniqueArray(fc.integer({ min: 1, max: 20 }), { maxLength: 16 })
        .chain((numbers) =>
          fc.tuple(...numbers.map((n) => fc.oneof(anyVm(n), fc.constant(stopped(n)), fc.constant(running(n))))),
        ),
      fc.nat(12),
      fc.nat(6),
      fc.integer({ min: 0, max: 10 }),
      (vms, wanted, standby, burst) => {
        const found = plan(wanting(wanted, standby), vms, { burst });
        const regular = vms.filter(isRegular).length;
        const others = vms.length - regular;
        const [up, made, spare] = [promoted(found), created(found), created(found, 'Standby')];
        if (up.length + made.length > 0) expect(regular + up.length + made.length).toBeLessThanOrEqual(wanted);
        if (spare.length > 0) expect(others - up.length + spare.length).toBeLessThanOrEqual(standby);
        if (spare.length > 0) expect(up.length + made.length).toBe(0);
        const isFree = (vm: VmView): boolean =>
          vm.role === 'Standby' && !vm.deleting && !vm.removing && !up.includes(vm.name);
        if (made.length > 0) expect(vms.filter(isFree)).toEqual([]);
        expect(made.length + spare.length + up.length).toBeLessThanOrEqual(Math.max(burst, 0));
        const names = new Set(vms.map(({ name }) => name));
        for (const n of [...made, ...spare]) expect(names.has(`web-${n}`)).toBe(false);
      },
    ),
  ));
