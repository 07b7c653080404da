import { describe, expect, test } from 'vitest';
import type { PoolSpec, ScaleInStrategy } from '../../../../api/pool/pool.ts';
import { planPool, type PoolPlan } from '../../../../decisions/pool/plan.ts';
import type { VmView } from '../../../../decisions/views/vm.ts';
import { aPool, aVm, aVmi, quiet, BY_USER } from '../../fixtures/fleets.ts';

/** A standby VM that is paused, and holds its memory on a node. */
const paused = (number: number, fields: Partial<VmView> = {}): VmView =>
  aVm(`web-${number}`, { role: 'Standby', standby: 'Paused', ...fields });

const windows = [{ cron: '0 22 * * *', duration: '2h' }];
const NOON = '2026-06-01T12:00:00Z';
const OPENING = '2026-06-01T22:00:00.000Z';

const plan = (
  vms: readonly VmView[],
  scaleInStrategy: ScaleInStrategy = {},
  { spec = {}, now = NOON }: { spec?: Partial<PoolSpec>; now?: string } = {},
): PoolPlan =>
  planPool({
    ...quiet,
    pool: aPool({ replicas: 1, standby: { replicas: 1, state: 'Paused' }, scaleInStrategy, ...spec }),
    vms: [aVm('web-1'), ...vms],
    vmiOf: (vm) => aVmi(vm, vm.role === 'Standby' ? { pause: BY_USER, ready: false } : {}),
    now: Date.parse(now),
    burst: 250,
  });

const conditionOf = ({ status }: PoolPlan, type: string) =>
  status?.conditions?.find((condition) => condition.type === type);
const blocked = (found: PoolPlan) => {
  const { reason, message } = conditionOf(found, 'ScaleInBlocked') ?? {};
  return [reason, message];
};
const deleted = ({ steps }: PoolPlan): string[] =>
  steps.flatMap((step) => (step.kind === 'delete' ? step.vms.map(({ name }) => name) : []));

describe('surplus standby VMs that stay are reported with the reason', () => {
  const two = [paused(2), paused(3)];

  test.each<[string, ScaleInStrategy, VmView[], string]>([
    ['Protected', {}, two.map((vm) => ({ ...vm, protected: true })), 'web-2, web-3 are protected from scale-in'],
    ['Unmanaged', { unmanaged: {} }, two, 'scale-in is left to users, and the pool has web-2, web-3 as standby'],
    ['NotHalted', { opportunistic: {} }, two, 'web-2, web-3 are not halted'],
    ['WaitingForWindow', { proactive: { windows } }, two, `the next window opens at ${OPENING}`],
  ])('%s', (reason, strategy, vms, why) => {
    const found = plan(vms, strategy);
    expect(deleted(found)).toEqual([]);
    expect(blocked(found)).toEqual([reason, `1 VM stays that is more than the 1 wanted as standby: ${why}`]);
    expect(found.phase).not.toBe('ScalingIn');
  });

  test('surplus standby VMs are reported after replicas that stay', () => {
    const kept = [aVm('web-4', { protected: true }), { ...paused(2), protected: true }];
    const both = plan(kept, {}, { spec: { replicas: 0, standby: { replicas: 0 } } });
    expect(blocked(both)[1]).toBe(
      '1 VM stays that is more than the 0 wanted: web-4 is protected from scale-in; ' +
        '1 VM stays that is more than the 0 wanted as standby: web-2 is protected from scale-in',
    );
  });

  test('standby VMs are not reported while there are as many as wanted, or they leave', () => {
    expect(blocked(plan([paused(2)], { unmanaged: {} }))).toEqual([undefined, undefined]);
    const leaving = plan(two);
    expect([deleted(leaving).length, ...blocked(leaving)]).toEqual([1, undefined, undefined]);
  });
});

test('surplus standby VMs are checked again when a window opens, and leave then', () => {
  const strategy = { proactive: { windows } };
  expect(plan([paused(2), paused(3)], strategy).requeueAt).toBe(Date.parse(OPENING));
  expect(plan([paused(2)], strategy).requeueAt).toBeNull();
  expect(deleted(plan([paused(2), paused(3)], strategy, { now: OPENING }))).toHaveLength(1);
});

test('a standby VM leaves the node that has most of them, if the policy asks for that', () => {
  const vms = [paused(2), paused(3), paused(4)];
  const found = planPool({
    ...quiet,
    pool: aPool({
      replicas: 0,
      standby: { replicas: 2, state: 'Paused' },
      scaleInStrategy: { proactive: { selectionPolicy: { basePolicy: 'Oldest', spread: 'node' } } },
    }),
    vms,
    vmiOf: (vm) => aVmi(vm, { pause: BY_USER, ready: false, node: vm.name === 'web-2' ? 'node-1' : 'node-2' }),
    burst: 250,
  });
  expect(deleted(found)).toEqual(['web-3']);
});
