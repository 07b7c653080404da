import { describe, expect, test } from 'vitest';
import type { VmsSnapshot } from '../../../decisions/disruption-budget/restart-budget.ts';
import { actionReport } from '../../../decisions/operations/action-report.ts';
import { limitsOf } from '../../../decisions/operations/limits.ts';
import { powerNeed } from '../../../decisions/power/need.ts';
import { outcomeOf, type OutcomeInput, type VmInProgress } from '../../../decisions/power/outcome.ts';
import { planPower } from '../../../decisions/power/plan.ts';
import { withSkipped, type Skipped } from '../../../decisions/runs/skipped.ts';
import type { RecordedChange } from '../../../decisions/views/annotations/recorded-change.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { aVm, aVmi, SNAPSHOT } from '../fixtures/fleets.ts';
import { anOperation, aProgress } from '../operations/operations.ts';

const NOW = 1_000_000;
const MINUTE = 60_000;
const db = aVm('db', { owner: null });

const needOf = (vm: Partial<VmView>) =>
  powerNeed('Patch', { target: db.uid, vm: { ...db, ...vm }, vmi: aVmi(db), owner: undefined });

describe('the need of a change', () => {
  test.each<[string, Partial<VmView>, object]>([
    ['is done to a VM that runs', {}, { need: 'act' }],
    ['disrupts nothing, so that no owner needs to be asked', { optedOut: true }, { need: 'act' }],
    ['waits while a snapshot is taken', { operations: SNAPSHOT }, { need: 'deferred' }],
    ['is not for another VM of its name', { uid: 'another' }, { need: 'nothing' }],
    ['is not for a VM that is deleted', { deleting: true }, { need: 'nothing' }],
    ...['VirtualMachinePool', 'VirtualMachineReplicaSet', 'VirtualMachinePool.pool.kubevirt.io'].map(
      (kind): [string, Partial<VmView>, object] => [
        `leaves what the template of a ${kind} says`,
        { owner: { kind, name: 'web', uid: 'u' } },
        { need: 'excluded', message: `its template sets it: change the template of ${kind.split('.')[0]} web` },
      ],
    ),
  ])('%s', (_what, vm, need) => {
    expect(needOf(vm)).toMatchObject(need);
  });
});

const VMI = aVmi(db);
const noted = (change: Partial<RecordedChange> = {}): RecordedChange => ({
  id: 'op',
  operation: 'patch-1',
  need: 'Restart',
  ...change,
});

describe('a change in progress', () => {
  const held: VmInProgress = { vm: 'default/db', uid: db.uid, since: NOW - 2 * MINUTE, vmi: VMI.uid };
  const outcome = (vm: Partial<VmView>, vmi: VmiView | null = VMI, since = NOW) => {
    const snapshot: VmsSnapshot = {
      vmOf: () => ({ ...db, ...vm }),
      vmiOf: () => vmi ?? undefined,
      poolOf: () => undefined,
    };
    const input: OutcomeInput = { action: 'Patch', by: 'op', snapshot, deadlineMs: MINUTE, now: NOW };
    const found = outcomeOf({ ...held, since }, input);
    if (found === null) return null;
    const { vm: _vm, since: _since, ...rest } = found;
    return rest;
  };
  const changed = { changes: [noted(), noted({ id: 'another', kept: 'of another' })] };
  const restarts = { changes: [noted({ vmi: VMI.uid })] };
  const next = aVmi(db, { uid: 'next' });

  test.each<[string, ReturnType<typeof outcome>, object | null]>([
    ['is done once KubeVirt has seen it', outcome(changed), { end: 'Patched', need: 'Restart' }],
    ['is done at once if it needs nothing', outcome({ changes: [noted({ need: 'Nothing' })] }), { end: 'Patched' }],
    [
      'is done at once to a VM that is stopped, of which KubeVirt says nothing',
      outcome({ changes: [noted({ need: 'Start' })], generationObserved: false }, null),
      { end: 'Patched', need: 'Start' },
    ],
    ['is waited for until then', outcome({ ...changed, generationObserved: false }), null],
    [
      'fails if KubeVirt does not see it',
      outcome({ ...changed, generationObserved: false }, VMI, NOW - 2 * MINUTE),
      { end: 'Failed', message: 'not changed in time: KubeVirt has not observed its spec yet' },
    ],
    [
      'is told if an undo has left something',
      outcome({ changes: [noted({ kept: 'somebody' })] }),
      { end: 'Left', message: 'somebody' },
    ],
    ['is waited for until its VM has restarted', outcome(restarts), null],
    ['is done, and needs nothing more, once it has', outcome(restarts, next), { end: 'Patched' }],
    [
      'is done if somebody stops its VM',
      outcome({ ...restarts, runStrategy: 'Halted', hasVmi: false }, null),
      { end: 'Patched' },
    ],
    [
      'is over if its VM is deleted',
      outcome({ ...changed, deleting: true }),
      { end: 'Gone', message: 'it was deleted' },
    ],
  ])('%s', (_what, found, wanted) => {
    expect(found).toEqual(wanted);
  });
});

test('VMs that are to restart count as in a restart, and others do not', () => {
  const vms = Array.from({ length: 6 }, (_, index) => aVm(`vm-${index}`, { owner: null, ready: index > 1 }));
  const chosen = new Map(vms.map((vm) => [`shop/${vm.name}`, vm.uid]));
  const snapshot: VmsSnapshot = {
    vmOf: (key) => vms.find(({ name }) => `shop/${name}` === key),
    vmiOf: (vm) => aVmi(vm, { ready: vm.ready }),
    poolOf: () => undefined,
  };
  const none = new Set<string>();
  const plan = (restarts: boolean, atOnce: number) =>
    planPower({
      action: 'Patch',
      chosen,
      snapshot,
      inProgress: none,
      ended: none,
      whyExcluded: () => null,
      whyNot: () => null,
      atOnce,
      restarts,
      mayStart: true,
      now: NOW,
    }).admitted.map(({ vm }) => vm);
  expect(plan(false, 3)).toHaveLength(3);
  // Two are down: they come first, and count.
  expect(plan(true, 2).sort()).toEqual(['shop/vm-0', 'shop/vm-1']);
  expect(plan(true, 3)).toHaveLength(3);
});

const atOnceOf = (patch: object, spec: object = {}): number =>
  limitsOf(anOperation({ action: 'Patch', patch: { merge: '{}', ...patch }, ...spec }), 100).atOnce;

test('a change with restarts and without a limit of its own proceeds like a restart', () => {
  expect([{}, { restart: true }].map((patch) => atOnceOf(patch))).toEqual([10, 5]);
  expect(atOnceOf({ restart: true }, { atOnce: 2 })).toBe(2);
});

test('the end reports what the changes still need, and how many had them before', () => {
  const progress = aProgress({
    action: 'Patch',
    done: 3,
    open: 0,
    needs: { Restart: 2, Live: 1 },
    skipped: [{ message: 'there is no disk', isExcluded: true, count: 1, vms: ['shop/d'] }],
  });
  expect(actionReport(progress).end.message).toBe(
    '3 of 5 VMs patched; 1 get it from KubeVirt while they run; 2 need a restart before it takes effect; ' +
      'nothing to do for 1: they had it already, or are deleted',
  );
});

test('skipped VMs are reported by reasons with few names, and all are counted', () => {
  let left: Skipped[] = [];
  for (let index = 0; index < 500; index++) left = withSkipped(left, `shop/vm-${index}`, `why ${index % 100}`);
  expect(left).toHaveLength(21);
  expect(left.reduce((sum, { count }) => sum + count, 0)).toBe(500);
  expect(left.find(({ message: why }) => why === 'why 1')).toMatchObject({ isExcluded: true, count: 5 });
  expect(Math.max(...left.map(({ vms }) => vms.length))).toBe(10);
});
