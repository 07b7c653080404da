import { describe, expect, test } from 'vitest';
import type { RolloutStatus } from '../../../api/pool/pool.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import {
  aBatch,
  at,
  DOWN,
  fresh,
  held,
  NOW,
  old,
  plan,
  rolling,
  waits,
  type RolloutFields,
} from '../fixtures/rollout-pools.ts';

const MINUTE = 60_000;
const startedAt = at(NOW - 60 * MINUTE);
const LONG = ', for 600 s and longer';
/** An updated VM that has been down since before the rollout began: its revision is not the cause. */
const longDown = { ...DOWN, notReadySince: NOW - 90 * MINUTE };
const down = (fields: Partial<VmView> = {}): VmView => fresh(1, { ...longDown, ...fields });
const poolOf = (vm: VmView, state: Partial<RolloutStatus> = {}): RolloutFields => ({
  vms: [vm, old(2), old(3)],
  state: rolling({ startedAt, batches: 1, ...state }),
});
const pool = (fields: RolloutFields = {}): RolloutFields => ({ ...poolOf(down()), ...fields });

test('VMs that have been down for the deadline hold a rollout up', () => {
  expect(waits(plan(pool()))).toEqual([`1 VM is unavailable (web-1)${LONG}, and maxUnavailable allows 1`]);
});

describe('a rollout is not held up by what may free the budget by itself', () => {
  const claim = { vm: 'web-1', vmi: 'vmi-of-web-1', by: 'power/default/one', at: at(NOW - 1_000) };
  const vmi = { uid: claim.vmi, ready: false };
  test.each<[string, RolloutFields]>([
    ['a batch', pool({ batches: [aBatch([held(old(2))])] })],
    ['a healing', pool({ isHealed: () => true })],
    ['an act on the VM', pool({ busy: new Set(['web-1']) })],
    ['a VM that is still to be made', pool({ spec: { replicas: 4 } })],
    ['a restart that somebody has asked for', poolOf(fresh(1, { changingState: true }))],
    ['somebody who has claimed the place', pool({ status: { disruptedVMs: [claim] }, vmis: { 'web-1': vmi } })],
  ])('%s', (_what, fields) => {
    const words = waits(plan(fields));
    expect(words.join()).toContain('maxUnavailable allows 1');
    expect(words.join()).not.toContain(LONG);
  });
});

describe('the deadline counts from the right time', () => {
  const halted = { kind: 'Undoing', by: 'drover', at: at(NOW - 5 * MINUTE), reason: 'why' } as const;
  test.each<[string, RolloutFields, number]>([
    ['the start of the rollout', poolOf(down(), { startedAt: at(NOW - 4 * MINUTE) }), 6],
    ['the moment in which it was let go on', poolOf(down(), { resumedAt: at(NOW - 3 * MINUTE) }), 7],
    ['the moment in which the VM went down', poolOf(down({ notReadySince: NOW - 2 * MINUTE })), 8],
    ['the making of a VM that has never been ready', poolOf(down({ notReadySince: null, createdAt: NOW - MINUTE })), 9],
    ['the beginning of an undo', { ...poolOf(down(), { halted }), vms: [old(1, longDown), fresh(2), fresh(3)] }, 5],
  ])('%s', (_what, fields, minutes) => {
    const { requeueAt: wakeAt, ...planned } = plan(fields);
    expect(wakeAt).toBe(NOW + minutes * MINUTE);
    expect(waits({ requeueAt: wakeAt, ...planned }).join()).not.toContain(LONG);
    const later = waits(plan({ ...fields, now: NOW + minutes * MINUTE - 1 }));
    expect(later.join()).not.toContain(LONG);
  });
});
