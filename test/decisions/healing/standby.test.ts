import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ScaleInStrategy } from '../../../api/pool/pool.ts';
import { newCycle, noHealing, type Cycle } from '../../../decisions/healing/state.ts';
import { planPool, type PoolPlan } from '../../../decisions/pool/plan.ts';
import type { MemberRole, VmView } from '../../../decisions/views/vm.ts';
import { aPool, aVm, quiet } from '../fixtures/fleets.ts';

const NOW = Date.parse('2026-01-01T12:00:00Z');

/** A VM that has run well: a replica, or a standby VM that is stopped. */
const well = (number: number, role: MemberRole | null): VmView =>
  aVm(`web-${number}`, {
    notYetRun: null,
    uid: `new-${number}`,
    ...(role === 'Standby'
      ? { role, standby: 'Stopped', runStrategy: 'Halted', hasVmi: false, ready: false, state: 'Stopped' }
      : {}),
  });

/** A cycle whose VM is gone, and whose delay is over. */
const dueCycle = (number: number, role: Cycle['role']): Cycle => ({
  ...newCycle(
    { name: `web-${number}`, uid: `old-${number}`, attempt: 1, message: 'it fails', ...(role && { role }) },
    NOW,
  ),
  phase: 'Waiting',
  run: { state: 'Ended', outcome: { end: 'Removed', keptDisks: false, nextAt: new Date(NOW).toISOString() } },
});

interface Given {
  vms: readonly VmView[];
  cycles: Cycle[];
  replicas: number;
  standby: number;
  strategy?: ScaleInStrategy;
}

const plan = ({ vms, cycles, replicas, standby, strategy = {} }: Given): PoolPlan =>
  planPool({
    ...quiet,
    pool: aPool({ replicas, standby: { replicas: standby }, scaleInStrategy: strategy, autohealing: {} }),
    vms,
    healing: { ...noHealing, cycles },
    burst: 250,
    now: NOW,
  });

/** The VMs once the steps of the plan are carried out. */
function after(vms: readonly VmView[], { steps }: PoolPlan): VmView[] {
  const next = new Map(vms.map((vm) => [vm.name, vm]));
  for (const step of steps) {
    if (step.kind === 'create') for (const n of step.numbers) next.set(`web-${n}`, well(n, step.role ?? null));
    if (step.kind === 'delete') for (const { name } of step.vms) next.delete(name);
    if (step.kind === 'promoteStandby')
      for (const { name } of step.vms) next.set(name, { ...well(Number(name.slice('web-'.length)), null) });
  }
  return [...next.values()];
}

const outcomes = ({ healing: { state } }: PoolPlan): Record<string, string> =>
  Object.fromEntries([
    ...state.cycles.map(({ vm, phase }) => [vm, phase]),
    ...state.finished.map(({ vm, end, message: why }) => [vm, `${end}: ${why}`]),
  ]);

describe('a standby VM that is gone', () => {
  const given = { vms: [well(1, null), well(2, 'Standby')], cycles: [dueCycle(3, 'Standby')], replicas: 1 };

  test('comes back while the pool wants as many', () => {
    const found = plan({ ...given, standby: 2 });
    expect(outcomes(found)).toEqual({ 'web-3': 'Provisioning' });
    expect(found.steps).toMatchObject([{ kind: 'create', numbers: [3], role: 'Standby' }]);
  });

  test('does not come back once the pool wants fewer, and its cycle ends', () => {
    const found = plan({ ...given, standby: 1 });
    expect(outcomes(found)).toEqual({ 'web-3': 'Left: the pool needs fewer VMs now' });
    expect(found.steps).toEqual([]);
  });

  test('comes back if a scale-in would not have taken it, as a replica does', () => {
    const found = plan({ ...given, standby: 1, strategy: { unmanaged: {} } });
    expect(found.steps).toMatchObject([{ kind: 'create', numbers: [3], role: 'Standby' }]);
  });

  test('is not surplus because there are too many replicas', () => {
    const found = plan({ ...given, standby: 2, replicas: 0, strategy: {} });
    expect(outcomes(found)).toEqual({ 'web-3': 'Provisioning' });
  });
});

test('ends its cycle, whatever the pool wants meanwhile', () => {
  const anyStrategy = fc.constantFrom<ScaleInStrategy>(
    {},
    { unmanaged: {} },
    { opportunistic: {} },
    { proactive: { windows: [{ cron: '0 3 * * *', duration: '1h' }] } },
  );
  const anyNature = fc.constantFrom('replica', 'standby', 'healed replica', 'healed standby');
  fc.assert(
    fc.property(
      fc.array(anyNature, { maxLength: 8 }),
      fc.nat(6),
      fc.nat(4),
      anyStrategy,
      (natures, replicas, standby, strategy) => {
        let vms = natures.flatMap((nature, index) => {
          if (nature.startsWith('healed')) return [];
          return [well(index + 1, nature === 'standby' ? 'Standby' : null)];
        });
        let cycles = natures.flatMap((nature, index) =>
          nature.startsWith('healed') ? [dueCycle(index + 1, nature.endsWith('standby') ? 'Standby' : undefined)] : [],
        );
        for (let turn = 0; turn < 12; turn++) {
          const found = plan({ vms, cycles, replicas, standby, strategy });
          vms = after(vms, found);
          ({ cycles } = found.healing.state);
        }
        expect(cycles).toEqual([]);
      },
    ),
  );
});
