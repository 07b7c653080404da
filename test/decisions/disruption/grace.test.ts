import { describe, expect, test } from 'vitest';
import { countsFrom, graceOf, shutsDownUntil } from '../../../decisions/disruption/grace.ts';
import { deadlineOf } from '../../../decisions/power/outcome.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { aVm, aVmi } from '../fixtures/fleets.ts';

const T = 1_000_000;
const HOUR = 3_600_000;
const KILL = 30_000;
const vm = aVm('web-1', { notReadySince: T + 600_000, hasVmi: false });
const isOld = ({ uid }: VmiView): boolean => uid === 'old';
const restart = { since: T, graceMs: HOUR };
const old = (fields: Partial<VmiView> = {}) => aVmi(vm, { uid: 'old', graceMs: HOUR, ...fields });

describe('the time of a VM that restarts', () => {
  test.each<[string, VmiView | undefined, number]>([
    ['not while its guest shuts down, until Kubernetes kills it', old({ deleting: true }), T + HOUR + KILL],
    ['from when its old VMI has ended', old({ phase: 'Succeeded', endedAt: T + 600_000 }), T + 600_000],
    ['from when it is without a VMI', undefined, T + 600_000],
    ['from when its new VMI was made', aVmi(vm, { uid: 'new', createdAt: T + 700_000 }), T + 700_000],
    [
      'no later than its old VMI could end, however often new ones fail',
      aVmi(vm, { createdAt: T + 2 * HOUR }),
      T + HOUR,
    ],
    ['no sooner than it was begun with', aVmi(vm, { createdAt: T - 5 }), T],
  ])('%s', (_what, vmi, expected) => {
    expect(countsFrom(restart, vm, vmi, isOld)).toBe(expected);
  });

  test('counts at once if the VM had no VMI', () => {
    expect(graceOf(undefined)).toEqual({});
    expect(countsFrom({ since: T }, vm, undefined, isOld)).toBe(T);
  });
});

test("includes the guest's grace period, after a restart or a stop by hand", () => {
  const vmi = old({ deleting: true });
  const held = { vm: 'shop/web-1', uid: vm.uid, since: T, ...graceOf(vmi) };
  const snapshot = { vmOf: () => vm, vmiOf: () => vmi, poolOf: () => undefined };
  for (const action of ['Restart', 'Stop'] as const)
    expect(deadlineOf({ ...held, vmi: vmi.uid }, { action, snapshot, deadlineMs: 20_000, now: T })).toBe(
      T + HOUR + KILL + 20_000,
    );
});

test('begins when Kubernetes kills the VMI, or the VMI has ended', () => {
  expect(shutsDownUntil(old({ deletingSince: T }))).toBe(T + HOUR + KILL);
  expect(shutsDownUntil(old({ deletingSince: T, phase: 'Failed' }))).toBeNull();
  expect(shutsDownUntil(old())).toBeNull();
  expect(shutsDownUntil(undefined)).toBeNull();
});
