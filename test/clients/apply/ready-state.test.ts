import { expect, test } from 'vitest';
import { readyStateOf } from '../../../clients/apply/ready-state.ts';
import { appliedKindOf, Pools } from '../../../clients/cli/kinds.ts';
import { URGENCY } from '../../../decisions/notices/urgency.ts';
import { aBudget } from '../../api/budgets/budgets.ts';
import { setWith, VmSets } from '../replica-sets/sets.ts';
import { poolWith, type UserRequest } from '../rollout/pools.ts';

type Conditions = NonNullable<NonNullable<UserRequest['status']>['conditions']>;

const condition = (type: string, reason: string, status: 'True' | 'False' = 'True'): Conditions[number] => ({
  type,
  status,
  reason,
  message: 'so it is',
});

/** What the conditions of readiness say, and others beside. */
const ready = condition('Ready', 'AsWanted');
const notReady = (reason: string, also: 'Reconciling' | 'Stalled' | 'none', others: Conditions = []): Conditions => [
  condition('Ready', reason, 'False'),
  ...(also === 'none' ? [] : [condition(also, reason)]),
  ...others,
];
const poolOf = (conditions: Conditions, more: UserRequest = {}) =>
  poolWith({ ...more, status: { ...more.status, conditions } });
const stateOf = (conditions: Conditions, more: UserRequest = {}) => readyStateOf(Pools, poolOf(conditions, more));

test('an owner is ready once its worker says so, of its newest spec', () => {
  expect(stateOf([ready])).toEqual({ state: 'there' });
  expect(stateOf([condition('Ready', 'OutdatedPods')])).toEqual({ state: 'there', but: 'so it is' });
  expect(readyStateOf(VmSets, setWith({}, { observedGeneration: 1, conditions: [ready] }))).toEqual({ state: 'there' });
  const newer = poolOf([ready], { generation: 3 });
  for (const pool of [newer, poolOf([])])
    expect(readyStateOf(Pools, pool)).toMatchObject({ state: 'going', phase: 'Pending' });
});

test('one that is being deleted does not become ready', () => {
  const pool = poolOf([ready]);
  const metadata = { ...pool.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' };
  expect(readyStateOf(Pools, { ...pool, metadata })).toMatchObject({ state: 'stuck', message: 'it is being deleted' });
});

test('a problem that may pass is reported, and waited for', () => {
  // All that the table of urgency has, but for what the state says itself.
  const types = Object.keys(URGENCY).filter((type) => !['Stalled', 'Degraded', 'Progressing', 'Paused'].includes(type));
  const others = types.map((type) => condition(type, type));
  expect(stateOf(notReady('Starting', 'Reconciling', others))).toEqual({
    state: 'going',
    phase: 'Starting',
    message: 'so it is',
    notes: others.map(({ type }) => `${type}: so it is`),
  });
  for (const reason of ['WaitingForApproval', 'ProgressDeadlineExceeded', 'Stuck'])
    expect(stateOf(notReady(reason, 'none'))).toMatchObject({ state: 'going', phase: reason });
});

const message = (conditions: Conditions, more: UserRequest = {}): unknown => {
  const state = stateOf(conditions, more);
  return state.state === 'stuck' && state.message;
};

test('a problem that does not pass by itself ends the wait', () => {
  const halted = { kind: 'Failed', by: 'drover', at: '2026-01-01T00:00:00Z', reason: '1 VM failed' } as const;
  expect(message(notReady('Failed', 'Stalled'), { rollout: { halted } })).toContain(
    'pool web: the rollout of this template has failed, and was stopped, by drover: 1 VM failed',
  );
  expect(message(notReady('Paused', 'none'), { spec: { paused: true } })).toBe('it is paused by spec.paused');
  expect(message(notReady('OutdatedVms', 'none'))).toBe('its updateStrategy leaves VMs to others: so it is');
  expect(message(notReady('Protected', 'none'))).toBe('Protected: so it is');
  expect(message(notReady('InvalidTemplate', 'Stalled'))).toBe('InvalidTemplate: so it is');
  expect(
    readyStateOf(VmSets, setWith({}, { observedGeneration: 1, conditions: notReady('Paused', 'none') })),
  ).toMatchObject({ state: 'stuck', message: 'it is paused: so it is' });
});

test('a budget is ready once its worker holds it, and stuck if a user must act', () => {
  const kind = appliedKindOf('VirtualMachineDisruptionBudget');
  const seen = (...conditions: Conditions) => readyStateOf(kind, { ...aBudget(), status: { conditions } });
  expect(seen()).toMatchObject({ state: 'going', phase: 'Pending' });
  expect(seen(condition('Ready', 'Held'))).toEqual({ state: 'there' });
  expect(seen(condition('Ready', 'Held'), condition('Stalled', 'NothingMatches'))).toEqual({
    state: 'stuck',
    message: 'NothingMatches: so it is',
  });
});
