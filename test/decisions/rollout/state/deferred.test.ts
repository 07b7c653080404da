import { describe, expect, test } from 'vitest';
import { backoffMs } from '../../../../decisions/lib/backoff.ts';
import type { UpdateOutcome } from '../../../../decisions/owners/batch.ts';
import { deferredAfter, stillDeferred, type DeferredVm } from '../../../../decisions/rollout/state/deferred.ts';
import { aBatch, DOWN, held, NEW, NOW, OLD, old, plan, rolling, taken, waits } from '../../fixtures/rollout-pools.ts';

const WHY = 'Secret user-1 is missing';
const missing = (vm: string): UpdateOutcome => ({ vm, end: 'Deferred', message: WHY, isOwn: true });
const after = (outcomes: UpdateOutcome[], before: DeferredVm[] = [], revision = NEW): DeferredVm[] =>
  deferredAfter(before, { revision, vms: [], outcomes }, NOW).deferred;
const once = (vm: string): DeferredVm => ({ vm, revision: NEW, message: WHY, tries: 1, notBefore: NOW + backoffMs(1) });

describe('deferral after a batch', () => {
  test('makes VMs wait that the batch has given back for their own reasons, longer each time', () => {
    expect(after([missing('web-1'), { vm: 'web-2', end: 'Deferred', message: 'the budget is used up' }])).toEqual([
      once('web-1'),
    ]);
    expect(after([missing('web-1')], [once('web-1'), once('web-3')])).toEqual([
      once('web-3'),
      { ...once('web-1'), tries: 2, notBefore: NOW + backoffMs(2) },
    ]);
  });

  test.each(['Updated', 'Failed', 'Gone', 'Deferred'] as const)('ends for a VM whose end is %s', (end) => {
    expect(after([{ vm: 'web-1', end }], [once('web-1')])).toEqual([]);
  });

  test('remembers corrections for a while: what drifts again is corrected later, and later each time', () => {
    const vms = [held(old(1), 'write', { setsRight: true }), held(old(2))];
    const end = (before: DeferredVm[], now = NOW): DeferredVm[] =>
      deferredAfter(
        before,
        { revision: NEW, vms, outcomes: vms.map(({ name }) => ({ vm: name, end: 'Updated' })) },
        now,
      ).deferred;
    const first = end([]);
    expect(first).toEqual([
      { ...once('web-1'), corrected: true, message: expect.stringMatching(/^something else .* once$/) },
    ]);
    expect(end(first)).toMatchObject([{ tries: 2, notBefore: NOW + backoffMs(2), corrected: true }]);
    const later = NOW + 6 * 60_000;
    expect(stillDeferred(first, later)).toEqual([]);
    expect(stillDeferred([once('web-1')], later)).toEqual([once('web-1')]);
    expect(end(first, later)).toMatchObject([{ tries: 1 }]);
  });

  test('ends with another revision', () => {
    expect(after([], [{ ...once('web-1'), revision: OLD }])).toEqual([]);
  });

  test('makes all wait if there are too many to tell which must', () => {
    const outcomes = Array.from({ length: 1_200 }, (_, index) => missing(`web-${index}`));
    const often = { ...once('other'), tries: 9, notBefore: NOW + 900_000 };
    const { deferred, notBefore } = deferredAfter([often], { revision: NEW, vms: [], outcomes }, NOW);
    expect(deferred).toHaveLength(1_000);
    expect(deferred).toContain(often);
    expect(notBefore).toBe(NOW + 900_000);
  });
});

describe('a VM that was given back', () => {
  const vms = [old(1), old(2)];

  test('is taken when its time has come; others are taken before, and the plan says why it waits', () => {
    const found = plan({ vms, deferred: [once('web-1')], spec: { maxUnavailable: 2 } });
    expect(taken(found)).toEqual(['web-2']);
    expect(waits(found)).toEqual([`web-1: ${WHY}`]);
    expect(found.requeueAt).toBe(once('web-1').notBefore);
    expect(found.phase).toBe('RollingOut');
    const due = plan({ vms, deferred: [{ ...once('web-1'), notBefore: NOW }], spec: { maxUnavailable: 2 } });
    expect(taken(due).toSorted()).toEqual(['web-1', 'web-2']);
  });

  test('comes last when its time has come', () => {
    const due = { ...once('web-1'), notBefore: NOW };
    expect(taken(plan({ vms: [old(1, DOWN), old(2)], deferred: [due], spec: { maxUnavailable: 2 } }))).toEqual([
      'web-2',
      'web-1',
    ]);
  });

  test('is reported as waiting while a batch tries again', () => {
    const deferred = [{ ...once('web-1'), notBefore: NOW }];
    expect(waits(plan({ vms: [old(1)], deferred, batches: [aBatch([held(old(1))])] }))).toEqual([`web-1: ${WHY}`]);
  });

  test('gets a spec that needs no restart, and another revision, at once', () => {
    const stopped = old(1, { runStrategy: 'Halted', hasVmi: false, ready: false, state: 'Stopped' });
    expect(taken(plan({ vms: [stopped], deferred: [once('web-1')] }))).toEqual(['web-1']);
    expect(taken(plan({ vms: [old(1)], deferred: [{ ...once('web-1'), revision: OLD }] }))).toEqual(['web-1']);
  });

  test('takes no place in the budget from another', () => {
    const found = plan({ vms: [old(1, DOWN), old(2)], deferred: [once('web-1')], state: rolling() });
    expect(taken(found)).toEqual([]);
    const up = plan({ vms, deferred: [once('web-1')], spec: { maxUnavailable: 1 } });
    expect(taken(up)).toEqual(['web-2']);
  });
});
