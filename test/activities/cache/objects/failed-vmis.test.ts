import { expect, test } from 'vitest';
import { FailedVmis } from '../../../../activities/cache/objects/failed-vmis.ts';
import { aVm, aVmi } from '../../../decisions/fixtures/fleets.ts';

const NOW = Date.UTC(2026, 0, 1, 12);
const VM = { namespace: aVm('web-1').namespace, uid: 'of-web-1' };
const failed = (uid: string, endedAt: number | null) =>
  aVmi(aVm('web-1'), { uid, vmUid: 'of-web-1', phase: 'Failed', runningSince: NOW - 1_000, endedAt });

test("a VMI's end is the time of observation if KubeVirt reports none", () => {
  const vmis = new FailedVmis();
  expect(vmis.add(failed('one', null), NOW)).toBe(true);
  expect(vmis.add(failed('one', null), NOW + 5_000)).toBe(false);
  expect(vmis.of(VM).map(({ endedAt }) => endedAt)).toEqual([NOW]);
});

test('a VMI ended when KubeVirt says so, however late the report arrives', () => {
  const vmis = new FailedVmis();
  vmis.add(failed('one', NOW - 500), NOW);
  expect(vmis.of(VM).map(({ endedAt }) => endedAt)).toEqual([NOW - 500]);
});

test('a failed VMI that never ran is ignored', () => {
  const vmis = new FailedVmis();
  expect(vmis.add({ ...failed('one', null), runningSince: null }, NOW)).toBe(false);
  expect(vmis.of(VM)).toEqual([]);
});

test('the VMIs of one VM are never those of another, even if they name its UID in another namespace', () => {
  const vmis = new FailedVmis();
  const forged = { ...failed('one', null), namespace: 'strangers', whyNotReady: 'a lie' };
  vmis.add(forged, NOW);
  expect(vmis.of(VM)).toEqual([]);
  expect(vmis.reasonOf(VM)).toBeNull();
  expect(vmis.of({ ...VM, namespace: 'strangers' })).toHaveLength(1);
});
