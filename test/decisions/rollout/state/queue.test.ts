import { describe, expect, test } from 'vitest';
import type { BatchVm } from '../../../../decisions/owners/batch.ts';
import { isQueued, splitBatches } from '../../../../decisions/rollout/state/queue.ts';
import type { VmView } from '../../../../decisions/views/vm.ts';
import type { VmiView } from '../../../../decisions/views/vmi.ts';
import { aVmi } from '../../fixtures/fleets.ts';
import { aBatch, fresh, held, NEW, OLD, old } from '../../fixtures/rollout-pools.ts';

interface Case {
  vm?: VmView | undefined;
  vmi?: Partial<VmiView> | null;
  hasDrift?: boolean;
}

const queued = (one: BatchVm, { vm, vmi = {}, hasDrift = false }: Case): boolean =>
  isQueued(one, NEW, vm, {
    vmiOf: (of) => (vmi === null ? undefined : aVmi(of, vmi)),
    hasDrift: () => hasDrift,
  });

const DELETING = { deleting: true };

describe('a VM of a batch waits for its turn', () => {
  test.each<[what: string, isSo: boolean, held: BatchVm, Case]>([
    ['until its spec is written', true, held(old(1)), { vm: old(1) }],
    ['and not once it is', false, held(old(1)), { vm: fresh(1), vmi: { revision: OLD } }],
    ['though somebody has written another spec', true, held(old(1)), { vm: old(1, { revision: 'other' }) }],
    [
      'if it had the spec, until its VMI ends',
      true,
      held(fresh(1), 'restart', { from: NEW }),
      { vm: fresh(1), vmi: { revision: OLD } },
    ],
    [
      'if it had the spec, not once its VMI ends',
      false,
      held(fresh(1), 'restart', { from: NEW }),
      { vm: fresh(1), vmi: { ...DELETING } },
    ],
    [
      'if it had the spec, not once a new VMI runs',
      false,
      held(fresh(1), 'restart', { from: NEW }),
      { vm: fresh(1), vmi: { revision: NEW } },
    ],
    [
      'if it had the spec, not once its restart is asked for',
      false,
      held(fresh(1), 'restart', { from: NEW }),
      { vm: fresh(1, { changingState: true }), vmi: { revision: OLD } },
    ],
    [
      'if its VMI is to restart for what it has read',
      true,
      held(fresh(1), 'restart', { from: NEW, vmi: 'first' }),
      { vm: fresh(1), vmi: { uid: 'first', revision: NEW } },
    ],
    [
      'not if that has restarted',
      false,
      held(fresh(1), 'restart', { from: NEW, vmi: 'first' }),
      { vm: fresh(1), vmi: { uid: 'second', revision: NEW } },
    ],
    [
      'while it has drift',
      true,
      held(fresh(1), 'restart', { from: NEW, setsRight: true }),
      { vm: fresh(1), hasDrift: true },
    ],
    [
      'and not once that is set right',
      false,
      held(fresh(1), 'restart', { from: NEW, setsRight: true }),
      { vm: fresh(1) },
    ],
    ['not if it is replaced', false, held(old(1), 'replace'), { vm: old(1) }],
    [
      'not if KubeVirt updates it already',
      false,
      held(fresh(1), 'live', { from: NEW }),
      { vm: fresh(1), vmi: { revision: OLD } },
    ],
    ['not if another has its name', false, held(old(1)), { vm: old(1, { uid: 'another' }) }],
    ['not if it leaves', false, held(old(1)), { vm: old(1, { removing: true }) }],
    ['not if it is gone', false, held(old(1)), {}],
    [
      'until its migration is made',
      true,
      held(fresh(1), 'migrate', { from: NEW, migration: { vmi: 'first', attempt: 1 } }),
      { vm: fresh(1), vmi: { uid: 'first', revision: NEW, podRevision: OLD } },
    ],
    [
      'not once it has its new pod',
      false,
      held(fresh(1), 'migrate', { from: NEW, migration: { vmi: 'first', attempt: 1 } }),
      { vm: fresh(1), vmi: { uid: 'first', revision: NEW, podRevision: null } },
    ],
  ])('%s', (_what, isSo, one, given) => {
    expect(queued(one, given)).toBe(isSo);
  });
});

test('a batch is split into VMs that it has begun with, and VMs that wait', () => {
  const batches = [aBatch([held(old(1)), held(old(2)), held(old(3))])];
  const vms = [fresh(1), old(2), old(3)];
  const split = splitBatches(batches, { vms, vmiOf: (vm) => aVmi(vm), hasDrift: () => false });
  expect(split.batches.map((batch) => batch.vms.map(({ name }) => name))).toEqual([['web-1']]);
  expect(split.queued.map(({ name, revision }) => `${name} ${revision}`)).toEqual([`web-2 ${NEW}`, `web-3 ${NEW}`]);
});
