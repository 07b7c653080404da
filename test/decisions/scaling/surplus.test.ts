import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DELETE_PROTECTION_LABEL, PROTECT_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import type { Condition, PoolSpec, ScaleInStrategy } from '../../../api/pool/pool.ts';
import { isActive } from '../../../decisions/health/availability.ts';
import { planPool, type PoolPlan } from '../../../decisions/pool/plan.ts';
import { endOfProtection, isProtected } from '../../../decisions/views/annotations/protection.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import { aFailure, failed } from '../fixtures/backoffs.ts';
import { anyFleet, aPool, aVm, quiet } from '../fixtures/fleets.ts';

const halted = { runStrategy: 'Halted', hasVmi: false, ready: false, state: 'Stopped' } as const;
const plan = (spec: Partial<PoolSpec>, vms: readonly VmView[]): PoolPlan =>
  planPool({ ...quiet, pool: aPool(spec), vms, burst: 250 });
const leaving = ({ steps }: PoolPlan): string[] =>
  steps.flatMap((step) => (step.kind === 'delete' || step.kind === 'halt' ? step.vms.map(({ name }) => name) : []));
const condition = ({ status }: PoolPlan): Condition | undefined =>
  status?.conditions?.find(({ type }) => type === 'ScaleInBlocked');

test.each([
  [undefined, false],
  ['false', false],
  ['', false],
  ['true', true],
  ['True', true],
])("KubeVirt's delete protection with %j protects: %j", (value, expected) => {
  expect(isProtected({ labels: value === undefined ? {} : { [DELETE_PROTECTION_LABEL]: value } }, 0)).toBe(expected);
});

test('a message says of each protection how it is ended', () => {
  const marks = { annotations: { [PROTECT_ANNOTATION]: 'true' }, labels: { [DELETE_PROTECTION_LABEL]: 'True' } };
  expect(endOfProtection('web-1', marks)).toBe(
    '`kubectl annotate vm web-1 drover.dev/protect-from-scale-in-` and `kubectl label vm web-1 kubevirt.io/vm-delete-protection-`',
  );
});

const kept = (name: string, fields: Partial<VmView> = {}) => aVm(name, { protected: true, ...fields });

describe('a protected VM', () => {
  test('stays, however unhealthy it is, and another leaves in its place', () => {
    const vms = [kept('web-1', { ready: false, startFailures: 3 }), aVm('web-2'), kept('web-3', halted)];
    const planned = plan({ replicas: 2 }, vms);
    expect(leaving(planned)).toEqual(['web-2']);
    expect(condition(planned)).toBeUndefined();
  });

  test('is why the pool does not shrink: the status says how many stay, which, and why, and that no more will leave', () => {
    const planned = plan({ replicas: 1 }, [kept('web-1'), kept('web-2'), kept('web-3'), aVm('web-4')]);
    expect(leaving(planned)).toEqual(['web-4']);
    const words = '2 VMs stay that are more than the 1 wanted: web-1 … web-3 are protected from scale-in';
    expect(condition(planned)).toMatchObject({ status: 'True', reason: 'Protected', message: words });
    const then = plan({ replicas: 1 }, [kept('web-1'), kept('web-2'), kept('web-3')]);
    expect(then).toMatchObject({ steps: [], phase: 'Steady', blocked: words });
    expect(then.status?.conditions).toContainEqual(
      expect.objectContaining({ type: 'Progressing', status: 'False', reason: 'Complete' }),
    );
  });

  test('goes with its pool', () => {
    const pool = aPool({}, { deletionTimestamp: '2026-01-01T00:00:00Z' });
    const planned = planPool({ ...quiet, pool, vms: [kept('web-1')], burst: 250 });
    expect(leaving(planned)).toEqual(['web-1']);
    expect(condition(planned)).toBeUndefined();
  });

  test('is updated and healed like any other', () => {
    const vms = [kept('web-1', { ready: false, state: 'CrashLoopBackOff', startFailures: 9 }), aVm('web-2')];
    const pool = aPool({ replicas: 2, autohealing: {} });
    const planned = planPool({ ...quiet, pool, vms, burst: 250 });
    expect(planned.healing.begin).toMatchObject([{ unhealthyVm: { name: 'web-1' } }]);
    const older = plan({ replicas: 2 }, [kept('web-1', { revision: 'old' }), aVm('web-2')]);
    expect(older.steps).toMatchObject([{ kind: 'update', batch: { vms: [{ name: 'web-1' }] } }]);
  });

  test('lets the failure to delete another VM pass, once that is gone', () => {
    const backoffs = failed('FailedDelete');
    const after = (vms: VmView[]) =>
      planPool({ ...quiet, pool: aPool({ replicas: 1 }), vms, backoffs, burst: 250 }).failures;
    expect(after([kept('web-1'), kept('web-2'), aVm('web-3')])).toEqual([aFailure('FailedDelete')]);
    expect(after([kept('web-1'), kept('web-2')])).toEqual([]);
  });
});

test('an unmanaged pool says that users remove VMs', () => {
  const planned = plan({ replicas: 1, scaleInStrategy: { unmanaged: {} } }, [aVm('web-1'), aVm('web-2', halted)]);
  expect(leaving(planned)).toEqual([]);
  expect(condition(planned)).toMatchObject({
    reason: 'Unmanaged',
    message: '1 VM stays that is more than the 1 wanted: scale-in is left to users, and the pool has web-1, web-2',
  });
});

test('an opportunistic pool says which VMs are not halted, and which of the others are protected', () => {
  const spec = { replicas: 0, scaleInStrategy: { opportunistic: {} } };
  const vms = [aVm('web-1'), aVm('web-2', halted), aVm('web-3', { ...halted, protected: true })];
  const planned = plan(spec, vms);
  expect(planned.steps).toMatchObject([{ kind: 'delete', because: 'SurplusHalted', vms: [{ name: 'web-2' }] }]);
  expect(condition(planned)).toMatchObject({
    reason: 'NotHalted',
    message: '2 VMs stay that are more than the 0 wanted: web-1 is not halted; web-3 is protected from scale-in',
  });
  expect(condition(plan(spec, vms.slice(2)))).toMatchObject({ reason: 'Protected' });
  expect(condition(plan({ ...spec, replicas: 2 }, vms))).toBeUndefined();
});

test('no VM leaves any pool that may not, and all surplus that stays is reported', () => {
  const anyStrategy = fc.constantFrom<ScaleInStrategy>({ unmanaged: {} }, { opportunistic: {} }, { proactive: {} });
  fc.assert(
    fc.property(anyFleet, anyStrategy, fc.nat(12), (fleet, scaleInStrategy, replicas) => {
      const spec = { replicas, scaleInStrategy };
      const all = fleet.filter(isActive);
      const planned = plan(spec, all);
      const gone = new Set(leaving(planned));
      expect(all.filter((vm) => gone.has(vm.name) && vm.protected)).toEqual([]);
      const rest = all.filter(({ name }) => !gone.has(name));
      expect(rest.length).toBeGreaterThanOrEqual(Math.min(replicas, all.length));
      // What has not left in the first plan never does.
      const tooMany = Math.max(rest.length - replicas, 0);
      const told = condition(planned)?.message ?? '0 VMs';
      expect(Number.parseInt(told, 10)).toBe(tooMany);
      expect(leaving(plan(spec, rest))).toEqual([]);
    }),
  );
});

describe('a pool with windows for scale-in', () => {
  const windows = [{ cron: '0 22 * * *', duration: '2h' }];
  const spec = { replicas: 1, scaleInStrategy: { proactive: { windows } } };
  const vms = [aVm('web-1'), aVm('web-2')];
  const at = (time: string, all: readonly VmView[] = vms, more: Partial<PoolSpec> = {}): PoolPlan =>
    planPool({
      ...quiet,
      pool: aPool({ ...spec, ...more }),
      vms: all,
      now: Date.parse(time),
      burst: 250,
    });
  const opening = Date.parse('2026-06-01T22:00:00Z');

  test('begins only inside a window, says when it opens, and checks again then', () => {
    const planned = at('2026-06-01T12:00:00Z');
    expect(planned).toMatchObject({ steps: [], requeueAt: opening });
    expect(condition(planned)).toMatchObject({
      reason: 'WaitingForWindow',
      message: '1 VM stays that is more than the 1 wanted: the next window opens at 2026-06-01T22:00:00.000Z',
    });
    const inside = at('2026-06-01T23:59:00Z');
    expect(leaving(inside)).toHaveLength(1);
    expect(condition(inside)).toBeUndefined();
    expect(at('2026-06-02T00:00:01Z').steps).toEqual([]);
  });

  test('also says which VMs stay inside a window, and which windows never open', () => {
    const kept = vms.map((vm) => ({ ...vm, protected: true }));
    expect(condition(at('2026-06-01T12:00:00Z', kept))?.message).toMatch(/; web-1, web-2 are protected from scale-in$/);
    const never = { proactive: { windows: [{ cron: '0 25 * * *', duration: '2h' }] } };
    expect(condition(at('2026-06-01T12:00:00Z', vms, { scaleInStrategy: never }))?.message).toMatch(
      /no further window opens, spec\.scaleInStrategy\.proactive\.windows\[0\]: hour 25/,
    );
  });

  test('finishes outside a window what has begun, and makes VMs at any time', () => {
    const stopped = aVm('web-2', { ...halted, removing: true });
    expect(at('2026-06-01T12:00:00Z', [aVm('web-1'), stopped]).steps).toMatchObject([
      { kind: 'delete', because: 'Annotated' },
    ]);
    expect(at('2026-06-01T12:00:00Z', []).steps).toMatchObject([{ kind: 'create' }]);
    expect(at('2026-06-01T12:00:00Z', vms, { replicas: 2 }).requeueAt).toBeNull();
  });

  test('heals the VMs that wait for a window, and these come back', () => {
    const sick = aVm('web-2', { ready: false, state: 'CrashLoopBackOff', startFailures: 9 });
    const planned = at('2026-06-01T12:00:00Z', [aVm('web-1'), sick], { autohealing: {} });
    expect(planned.healing.begin).toMatchObject([{ unhealthyVm: { name: 'web-2' } }]);
    const cycles = planned.healing.state.cycles.map((cycle) => ({ ...cycle, phase: 'Provisioning' as const }));
    const again = planPool({
      ...quiet,
      pool: aPool({ ...spec, autohealing: {} }),
      vms: [aVm('web-1')],
      healing: { ...planned.healing.state, cycles },
      now: Date.parse('2026-06-01T12:01:00Z'),
      burst: 250,
    });
    expect(again.steps).toContainEqual(expect.objectContaining({ kind: 'create', numbers: [2] }));
    expect(at('2026-06-01T23:00:00Z', [aVm('web-1'), sick], { autohealing: {} }).healing.begin).toEqual([]);
  });
});
