import { expect, test } from 'vitest';
import type { PoolStatus } from '../../../api/pool/pool.ts';
import { drainingCounts } from '../../../decisions/drain/condition.ts';
import { noticeEvents, operationNotices, poolNotices, setNotices } from '../../../decisions/notices/notices.ts';
import type { StoredOperation } from '../../../decisions/views/stored-operation.ts';
import { aPool } from '../fixtures/fleets.ts';

const AT = '2026-01-01T10:00:00.000Z';
const EARLIER = '2026-01-01T09:00:00.000Z';

const condition = (type: string, reason: string, status: 'True' | 'False' = 'True') => ({
  type,
  status,
  reason,
  message: `${reason} it is`,
  lastTransitionTime: EARLIER,
});
const rollout = { revision: 'abc', step: 1, stepReachedAt: AT } as NonNullable<PoolStatus['rollout']>;
const poolWith = (status: Partial<PoolStatus>) => ({ ...aPool(), status: { replicas: 3, ...status } });
const told = (status: Partial<PoolStatus>) =>
  poolNotices(poolWith(status)).map(({ type, which, since, command }) => [type, which, since, command]);

test('a step that waits for approval is told since the rollout came to it, each step for itself', () => {
  const conditions = [condition('Progressing', 'WaitingForApproval')];
  expect(told({ rollout, conditions })).toEqual([
    ['rollout.waiting', 'abc/1', AT, 'drover rollout promote pool web -n shop'],
  ]);
  expect(told({ rollout: { ...rollout, step: 2 }, conditions })[0]![1]).toBe('abc/2');
  expect(told({ rollout, conditions: [condition('Progressing', 'WaitingAtStep')] })).toEqual([]);
});

test('a step that waits anew, since its rollout was paused and resumed there, is told as something else than before', () => {
  const resumedAt = '2026-01-01T12:00:00.000Z';
  const waiting = { ...condition('Progressing', 'WaitingForApproval'), lastTransitionTime: resumedAt };
  expect(told({ rollout, conditions: [waiting] })).toEqual([
    ['rollout.waiting', 'abc/1', resumedAt, 'drover rollout promote pool web -n shop'],
  ]);
});

test('a rollout that has halted is told once, whether it goes back or stays, and again if it cannot go back', () => {
  const halted = { ...rollout, halted: { kind: 'Undoing', by: 'drover', at: AT } } as const;
  const of = (reason: string) => told({ rollout: halted, conditions: [condition('Degraded', reason)] });
  const first = of('Undoing');
  expect(first).toEqual([['rollout.halted', 'abc', AT, 'drover rollout status pool web -n shop']]);
  expect([of('Undone'), of('Failed')]).toEqual([first, first]);
  expect(of('UndoFailed')[0]![1]).toBe('abc/UndoFailed');
  expect(of('UpdateFailed')).toEqual([]);
});

test('a rollout that is stuck is told, with an Event', () => {
  const stuck = { rollout, conditions: [condition('Progressing', 'Stuck', 'False')] };
  expect(told(stuck)).toEqual([['rollout.stuck', '', EARLIER, 'drover rollout status pool web -n shop']]);
  expect(noticeEvents([], poolNotices(poolWith(stuck)), Date.parse(AT))).toMatchObject([{ reason: 'RolloutStuck' }]);
});

test('a pool that is stalled for a rollout that halted, or that a user has ended, is told no second time', () => {
  for (const reason of ['Failed', 'Undone', 'UndoFailed', 'Aborted'])
    expect(told({ conditions: [condition('Stalled', reason)] })).toEqual([]);
  expect(told({ conditions: [condition('Stalled', 'InvalidTemplate')] })).toEqual([
    ['owner.stalled', 'InvalidTemplate', EARLIER, 'drover status pool web -n shop'],
  ]);
});

test('what fails is told as that, until a pool or set is stalled for it', () => {
  const failing = [condition('ReplicaFailure', 'FailedCreate'), condition('Contended', 'AnotherInstallation')];
  const types = (conditions: ReturnType<typeof condition>[]) =>
    told({ conditions }).map(([type, which]) => [type, which]);
  expect(types(failing)).toEqual([
    ['owner.failing', 'FailedCreate'],
    ['owner.failing', 'AnotherInstallation'],
  ]);
  expect(types([...failing, condition('Stalled', 'FailedCreate')])).toEqual([
    ['owner.stalled', 'FailedCreate'],
    ['owner.failing', 'AnotherInstallation'],
  ]);
  expect(types([condition('ReplicaFailure', 'FailedCreate', 'False')])).toEqual([]);
});

test('a rollout that waits for the budget is told since it does, and so does a drain, since it does', () => {
  const held = [condition('Progressing', 'ProgressDeadlineExceeded', 'False')];
  expect(told({ budgetFullSince: AT, conditions: held })).toEqual([
    ['budget.full', 'rollout', AT, 'drover rollout status pool web -n shop'],
  ]);
  const draining = [{ reason: 'WaitingForBudget', vms: 1, since: AT }] as const;
  expect(told({ conditions: [condition('Draining', 'WaitingForBudget')], draining: [...draining] })).toEqual([
    ['budget.full', 'drain', AT, 'drover status pool web -n shop'],
  ]);
  expect(told({ conditions: [condition('Draining', 'Evacuating')] })).toEqual([]);
});

const leaving = (state: 'Budget' | 'Evacuating') => [{ vm: 'web-1', node: 'n', state, message: '' }];

test('the status of a drain says since when it waits for what it waits for now', () => {
  const first = poolWith(drainingCounts(poolWith({}), leaving('Budget'), EARLIER));
  expect(first.status.draining).toEqual([{ reason: 'WaitingForBudget', vms: 1, since: EARLIER }]);
  const same = drainingCounts(first, leaving('Budget'), AT);
  expect(same).toEqual({ draining: first.status.draining });
  const goesOn = poolWith(drainingCounts(first, [...leaving('Evacuating'), ...leaving('Budget')], AT));
  expect(goesOn.status.draining).toEqual([
    { reason: 'Evacuating', vms: 1, since: AT },
    { reason: 'WaitingForBudget', vms: 1 },
  ]);
  expect(drainingCounts(goesOn, leaving('Budget'), AT).draining).toEqual([
    { reason: 'WaitingForBudget', vms: 1, since: AT },
  ]);
});

test('each VM that healing has given up is told by itself', () => {
  const finished = (['web-1', 'web-2'] as const).map((vm) => ({
    vm,
    uid: '',
    attempts: 3,
    end: vm === 'web-1' ? ('GivenUp' as const) : ('Healed' as const),
    message: 'given up after 3 replacements',
    at: AT,
  }));
  const [notice, ...others] = poolNotices(poolWith({ healing: { cycles: [], finished } }));
  expect(others).toEqual([]);
  expect(notice).toMatchObject({
    type: 'vm.givenup',
    vm: 'web-1',
    since: AT,
    message: 'web-1: given up after 3 replacements',
    command: 'drover heal now pool web web-1 -n shop',
  });
});

test('a pool that is being deleted is told of no more', () => {
  const pool = poolWith({ rollout, conditions: [condition('Progressing', 'WaitingForApproval')] });
  expect(poolNotices({ ...pool, metadata: { ...pool.metadata, deletionTimestamp: AT } })).toEqual([]);
});

test('a replica set is told of if it is stalled', () => {
  const { metadata, spec } = aPool();
  const set = { kind: 'VirtualMachineReplicaSet', metadata, spec } as unknown as Parameters<typeof setNotices>[0];
  const stalled = { ...set, status: { replicas: 0, conditions: [condition('Stalled', 'InvalidTemplate')] } };
  expect(setNotices(stalled as typeof set)).toMatchObject([
    { type: 'owner.stalled', command: 'drover status vmrs web -n shop' },
  ]);
});

test('an operation is told of when it has failed, unless a user has ended it', () => {
  const ended = (type: string, reason: string, namespace?: string): StoredOperation =>
    ({
      metadata: { name: 'night', uid: 'u', ...(namespace === undefined ? {} : { namespace }) },
      status: { completionTime: AT, conditions: [condition(type, reason)] },
    }) as unknown as StoredOperation;
  expect(operationNotices(ended('Failed', 'VmsFailed', 'shop'))).toMatchObject([
    {
      type: 'operation.failed',
      since: AT,
      command: 'drover operations describe night -n shop',
    },
  ]);
  expect(operationNotices(ended('Failed', 'VmsFailed'))).toMatchObject([
    { command: 'drover operations describe cvmop/night' },
  ]);
  expect(operationNotices(ended('Complete', 'Complete'))).toEqual([]);
  expect(operationNotices(ended('Failed', 'Aborted', 'shop'))).toEqual([]);
});

const NOW = Date.parse(AT);
const eventsBetween = (before: Partial<PoolStatus>, after: Partial<PoolStatus>) =>
  noticeEvents(poolNotices(poolWith(before)), poolNotices(poolWith(after)), NOW).map(({ reason, note }) => [
    reason,
    note,
  ]);

test('an Event tells a state that begins, each step anew, and no state that lasts', () => {
  const waiting = { rollout, conditions: [condition('Progressing', 'WaitingForApproval')] };
  const told = ['WaitingForApproval', 'WaitingForApproval it is: `drover rollout promote pool web -n shop`'];
  expect(eventsBetween({}, waiting)).toEqual([told]);
  expect(eventsBetween(waiting, waiting)).toEqual([]);
  expect(eventsBetween(waiting, { ...waiting, rollout: { ...rollout, step: 2 } })).toEqual([told]);
  expect(eventsBetween(waiting, {})).toEqual([]);
});

test.each([
  ['RolloutHalted', { rollout, conditions: [condition('Degraded', 'Undoing')] }],
  ['DrainStuck', { conditions: [condition('Draining', 'Stuck')] }],
  ['Stalled', { conditions: [condition('Stalled', 'InvalidTemplate')] }],
  ['BudgetFull', { budgetFullSince: AT, conditions: [condition('Progressing', 'ProgressDeadlineExceeded', 'False')] }],
])('%s is an Event, once', (reason, status) => {
  expect(eventsBetween({}, status).map(([one]) => one)).toEqual([reason]);
  expect(eventsBetween(status, status)).toEqual([]);
});

test('a rollout that waits for its budget as most do is no Event, until the budget is used up by other causes', () => {
  const waits = { budgetFullSince: AT, conditions: [condition('Progressing', 'RollingOut')] };
  const held = { budgetFullSince: AT, conditions: [condition('Progressing', 'ProgressDeadlineExceeded', 'False')] };
  expect(eventsBetween({}, waits)).toEqual([]);
  expect(eventsBetween(waits, held).map(([one]) => one)).toEqual(['BudgetFull']);
});
