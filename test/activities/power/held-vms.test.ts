import { expect, test } from 'vitest';
import { HeldVms } from '../../../activities/power/held-vms.ts';
import type { PowerAction } from '../../../decisions/power/action.ts';
import { aVm, aVmi } from '../../decisions/fixtures/fleets.ts';

const KNOWN = { synced: true, missing: null };
const purposeOf = (fields: object, nodes: object = KNOWN, action: PowerAction = 'Restart') => {
  const options = { cache: { nodes }, action, disruptsFor: 'Drain' };
  return new HeldVms(options as never).purposeOf(aVmi(aVm('a'), fields));
};

test('an operation that is labelled as a drain disrupts for that what is on drained nodes, and else for what it does', () => {
  expect(purposeOf({ nodeDrained: true })).toEqual({ reason: 'Drain' });
  expect(purposeOf({ podNodeCordoned: true })).toEqual({ reason: 'Drain' });
  expect(purposeOf({})).toEqual({ reason: 'Restart' });
  expect(purposeOf({}, KNOWN, 'Migrate')).toEqual({ reason: 'Migrate' });
});

test('where nodes cannot be read, it may be either, whatever they were like before', () => {
  const either = { reason: 'Restart', maybeFor: 'Drain' };
  const forbidden = { synced: true, missing: 'forbidden' };
  expect(purposeOf({}, forbidden)).toEqual(either);
  expect(purposeOf({ nodeDrained: true }, forbidden)).toEqual(either);
  // As on workers of one namespace.
  expect(purposeOf({}, { synced: false, missing: null })).toEqual(either);
});
