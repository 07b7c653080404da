import { expect, test } from 'vitest';
import { withOrigins, type Origin } from '../../../clients/history/origins.ts';
import type { Act } from '../../../decisions/history/act.ts';
import { anAct } from '../../decisions/history/acts.ts';

const anUpdate = (to: string | null, more: Partial<Act> = {}): Act =>
  anAct({ from: null, to, requestedBy: null, reason: `update web-1 to ${to} (restart)`, ...more });
const origin = (hash: string, changeCause: string | null = null): Origin => ({
  hash,
  requestedBy: `requester of ${hash}`,
  changeCause,
});
const requesters = (actions: Act[], revisions: Origin[]): (string | null)[] =>
  withOrigins(actions, revisions).map(({ requestedBy }) => requestedBy);

test('an update has the requester of its revision, unless the update says so itself', () => {
  const actions = [anUpdate('a'), anUpdate('b', { requestedBy: 'ada' }), anUpdate('c')];
  expect(requesters(actions, [origin('a'), origin('b')])).toEqual(['requester of a', 'ada', null]);
});

test('a revision that has come back has the requester of the last time', () => {
  const pause = anUpdate(null, { action: 'pause' });
  const actions = [anUpdate('a'), anUpdate('b'), anUpdate('a'), pause, anUpdate('a')];
  expect(requesters(actions, [origin('a'), origin('b')])).toEqual([
    null,
    'requester of b',
    'requester of a',
    null,
    'requester of a',
  ]);
});

test("drover's own acts stay its own, and a VM that is made belongs to no rollout", () => {
  const made = anUpdate('a', { action: 'create', requestedBy: 'drover', reason: 'create web-1: 1 missing of 1' });
  const undone = anUpdate('a', { requestedBy: 'drover' });
  const other = anUpdate('b', { action: 'create' });
  const told = withOrigins([anUpdate('a'), made, undone, other, anUpdate('a')], [origin('a', 'leaks')]);
  expect(told.slice(1, 4)).toEqual([made, undone, other]);
  expect([told[0]!.requestedBy, told[4]!.requestedBy]).toEqual(['requester of a', 'requester of a']);
});

test('the reason for a revision follows what was done', () => {
  const [told] = withOrigins([anUpdate('a', { requestedBy: 'ada' })], [origin('a', 'leaks')]);
  expect(told!.reason).toBe('update web-1 to a (restart): leaks');
});
