import { expect, test } from 'vitest';
import type { Action } from '../../../clients/history/actions.ts';
import { withOrigins, type Origin } from '../../../clients/history/origins.ts';

const anAction = (to: string | null, more: Partial<Action> = {}): Action => ({
  time: '2026-01-01T00:00:00.000Z',
  endedAt: null,
  action: 'restart',
  vms: ['web-1'],
  from: null,
  to,
  requestedBy: null,
  end: 'Updated',
  why: null,
  reason: `update web-1 to ${to} (restart)`,
  workflow: 'w',
  ...more,
});
const origin = (hash: string, changeCause: string | null = null): Origin => ({
  hash,
  requestedBy: `requester of ${hash}`,
  changeCause,
});
const requesters = (actions: Action[], revisions: Origin[]): (string | null)[] =>
  withOrigins(actions, revisions).map(({ requestedBy }) => requestedBy);

test('who asked for an update is who asked for its revision, unless the update says so itself', () => {
  const actions = [anAction('a'), anAction('b', { requestedBy: 'ada' }), anAction('c')];
  expect(requesters(actions, [origin('a'), origin('b')])).toEqual(['requester of a', 'ada', null]);
});

test('a revision that has come back tells only of the last time', () => {
  const pause = anAction(null, { action: 'pause' });
  const actions = [anAction('a'), anAction('b'), anAction('a'), pause, anAction('a')];
  expect(requesters(actions, [origin('a'), origin('b')])).toEqual([
    null,
    'requester of b',
    'requester of a',
    null,
    'requester of a',
  ]);
});

test("what is drover's own doing stays so, and a VM that is made is of no rollout", () => {
  const made = anAction('a', { action: 'create', requestedBy: 'drover', reason: 'create web-1: 1 missing of 1' });
  const undone = anAction('a', { requestedBy: 'drover' });
  const other = anAction('b', { action: 'create' });
  const told = withOrigins([anAction('a'), made, undone, other, anAction('a')], [origin('a', 'leaks')]);
  expect(told.slice(1, 4)).toEqual([made, undone, other]);
  expect([told[0]!.requestedBy, told[4]!.requestedBy]).toEqual(['requester of a', 'requester of a']);
});

test('why a revision was asked for stands behind what was done', () => {
  const [told] = withOrigins([anAction('a', { requestedBy: 'ada' })], [origin('a', 'leaks')]);
  expect(told!.reason).toBe('update web-1 to a (restart): leaks');
});
