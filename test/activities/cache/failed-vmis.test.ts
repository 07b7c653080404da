import { expect, test } from 'vitest';
import { FailedVmis } from '../../../activities/cache/failed-vmis.ts';
import { aVm, aVmi } from '../../decisions/model/fleets.ts';

const NOW = Date.UTC(2026, 0, 1, 12);
const failed = (uid: string, endedAt: number | null) =>
  aVmi(aVm('web-1'), { uid, vmUid: 'of-web-1', phase: 'Failed', runningSince: NOW - 1_000, endedAt });

test('a guest whose launcher was gone, so that KubeVirt does not tell when it failed, ended when it was heard of', () => {
  const guests = new FailedVmis();
  expect(guests.note(failed('one', null), NOW)).toBe(true);
  expect(guests.note(failed('one', null), NOW + 5_000)).toBe(false);
  expect(guests.of('of-web-1').map(({ endedAt }) => endedAt)).toEqual([NOW]);
});

test('a guest ended when KubeVirt says so, however late that is heard', () => {
  const guests = new FailedVmis();
  guests.note(failed('one', NOW - 500), NOW);
  expect(guests.of('of-web-1').map(({ endedAt }) => endedAt)).toEqual([NOW - 500]);
});

test('a guest that never ran is none that ran and failed', () => {
  const guests = new FailedVmis();
  expect(guests.note({ ...failed('one', null), runningSince: null }, NOW)).toBe(false);
  expect(guests.of('of-web-1')).toEqual([]);
});
