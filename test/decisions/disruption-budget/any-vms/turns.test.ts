import { expect, test } from 'vitest';
import { MAX_WAITERS, type BudgetWaiter, type DisruptionReason } from '../../../../api/budgets/budget.ts';
import { aheadOf, isListed, turnOf, withWaiters } from '../../../../decisions/disruption-budget/any-vms/turns.ts';

const NOW = Date.parse('2026-11-23T12:00:00.000Z');
const at = (seconds: number): string => new Date(NOW + seconds * 1_000).toISOString();
const waiter = (by: string, reason: DisruptionReason, since: number, seenAt = 0): BudgetWaiter => ({
  by,
  reason,
  vms: 1,
  since: at(since),
  seenAt: at(seenAt),
});
const asking = (reason: DisruptionReason) => new Map([['a', { reason, vms: 1 }]]);
const asks = (by: string, reason: DisruptionReason = 'Restart') => ({ by, reason });

test('drains come first, then all others in the order in which they came, and wishes last', () => {
  const waiting = [waiter('wish', 'Wish', -90), waiter('a', 'Rollout', -60), waiter('drain', 'Drain', -5)];
  expect(aheadOf(waiting, asks('drain', 'Drain'), NOW)).toBe(0);
  expect(aheadOf(waiting, asks('a', 'Rollout'), NOW)).toBe(1);
  expect(aheadOf(waiting, asks('new'), NOW)).toBe(2);
  expect(aheadOf(waiting, asks('wish', 'Wish'), NOW)).toBe(2);
  expect(aheadOf(waiting, asks('new drain', 'Drain'), NOW)).toBe(1);
  expect(aheadOf([waiter('b', 'Restart', -30), waiter('a', 'Restart', -60)], asks('a'), NOW)).toBe(0);
});

test('what asks no more loses its turn', () => {
  const ahead = waiter('by a wrong clock', 'Restart', -90, 31);
  const waiting = [waiter('gone', 'Restart', -90, -31), ahead, waiter('there', 'Restart', -60, -29)];
  expect(isListed([ahead], ahead.by, NOW)).toBe(false);
  expect(aheadOf(waiting, asks('new'), NOW)).toBe(1);
  expect(withWaiters(waiting, new Map(), new Set(), NOW).map(({ by }) => by)).toEqual(['there']);
});

test('what is served goes to the end when it asks again, and what waits keeps its place', () => {
  const waiting = [waiter('a', 'Restart', -60), waiter('b', 'Restart', -30)];
  const served = withWaiters(waiting, new Map(), new Set(['a']), NOW);
  expect(served.map(({ by }) => by)).toEqual(['b']);
  const again = withWaiters(served, new Map([['a', { reason: 'Restart', vms: 3 }]]), new Set(), NOW);
  expect(again.map(({ by, vms }) => [by, vms])).toEqual([
    ['b', 1],
    ['a', 3],
  ]);
  const renewed = withWaiters(again, new Map([['b', { reason: 'Restart', vms: 2 }]]), new Set(), NOW + 20_000);
  expect(renewed[0]).toEqual({ ...waiter('b', 'Restart', -30, 20), vms: 2 });
});

test('what says that nothing of it waits any more loses its turn at once', () => {
  const waiting = [waiter('a', 'Restart', -60), waiter('b', 'Restart', -30)];
  const left = withWaiters(waiting, new Map([['a', { reason: 'Restart', vms: 0 }]]), new Set(), NOW);
  expect(left.map(({ by }) => by)).toEqual(['b']);
});

test('what waits for VMs of two reasons has the better turn, and of too many the last are not listed', () => {
  for (const [was, is] of [
    ['Drain', 'Restart'],
    ['Restart', 'Drain'],
  ] as const)
    expect(withWaiters([waiter('a', was, -60)], asking(is), new Set(), NOW)[0]!.reason).toBe('Drain');
  const many = Array.from({ length: MAX_WAITERS }, (_, n) => waiter(`${n}`, 'Restart', -60));
  const listed = withWaiters(many, asking('Drain'), new Set(), NOW).map(({ by }) => by);
  expect(listed).toEqual(['a', ...many.slice(0, -1).map(({ by }) => by)]);
});

test('a waiter says so again every 15 s', () => {
  const waiting = [waiter('a', 'Restart', -60, -14)];
  expect([isListed(waiting, 'a', NOW), isListed(waiting, 'a', NOW + 2_000), isListed(waiting, 'b', NOW)]).toEqual([
    true,
    false,
    false,
  ]);
});

test('a pool has one turn with its batches', () => {
  expect(turnOf('pool/lab/shop/web/update/abc/1')).toBe('pool/lab/shop/web');
  expect(turnOf('pool/lab/shop/web')).toBe('pool/lab/shop/web');
  expect(turnOf('operation/lab/shop/restart')).toBe('operation/lab/shop/restart');
  const [waiting, batch] = [[waiter('pool/lab/shop/web', 'Rollout', -60)], 'pool/lab/shop/web/update/abc/1'];
  expect([aheadOf(waiting, asks(batch), NOW), isListed(waiting, batch, NOW)]).toEqual([0, true]);
});
