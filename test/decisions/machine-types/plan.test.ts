import { describe, expect, test } from 'vitest';
import { namespacedName } from '../../../decisions/disruption-budget/restart-budget.ts';
import {
  MAX_TO_CHANGE,
  planTransition,
  verificationOf,
  type TransitionTurn,
} from '../../../decisions/machine-types/plan.ts';
import type { TransitionRules } from '../../../decisions/machine-types/transition-rules.ts';
import type { Transition } from '../../../decisions/machine-types/transition.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { BY_USER, SNAPSHOT } from '../fixtures/fleets.ts';
import {
  anOldVm,
  anOldVmi,
  aPoolVm,
  aTransition,
  aTypedPool,
  ID,
  NEW,
  OLD,
  OTHER,
  OTHER_RUNS,
  snapshotOf,
  recordOfOurs,
  rulesOf,
} from './snapshots.ts';

const NOW = Date.parse('2026-01-02T03:04:05Z');
const MARKED = { machineType: NEW, transition: recordOfOurs(), transitionLabel: ID };

interface Scene {
  vms: VmView[];
  /** VMI fields, in the order of the VMs. By default, a VMI has its VM's type; null: there is none. */
  vmiFields?: (Partial<VmiView> | null)[];
  pool?: ReturnType<typeof aTypedPool>;
  transition?: Transition;
}

type Turn = Partial<Omit<TransitionTurn, 'inProgress'>> & { rules?: TransitionRules; inProgress?: string[] };

function plan(
  { vms, vmiFields = [], pool, transition = aTransition() }: Scene,
  { rules = rulesOf(transition), inProgress = [], ...turn }: Turn = {},
) {
  const vmis = vms.flatMap((vm, index) =>
    vmiFields[index] === null || !vm.hasVmi
      ? []
      : [anOldVmi(vm, { machineType: OLD, specMachineType: OLD, ...vmiFields[index] })],
  );
  const snapshot = snapshotOf(vms, { vmis, ...(pool === undefined ? {} : { pool }) });
  const rest = { failed: [], maxRestarts: 1, mayStart: true, isEnding: false, isEligible: () => true, now: NOW };
  const held = new Set(inProgress);
  return planTransition(rules, snapshot, { ...rest, inProgress: held, ...turn });
}

const many = (count: number, fields: Partial<VmView> = {}): VmView[] =>
  Array.from({ length: count }, (_, index) => anOldVm(`vm-${index + 1}`, fields));

test('old VMs are patched a few hundred at a time, and all are counted', () => {
  const { patch, counts, open } = plan({ vms: many(MAX_TO_CHANGE + 1) });
  expect([patch.length, counts.toPatch, open]).toEqual([MAX_TO_CHANGE, MAX_TO_CHANGE + 1, MAX_TO_CHANGE + 1]);
});

test('groups that nothing has checked wait for a dry run, which is asked for once each', () => {
  const found = plan({ vms: many(3, { preference: 'VirtualMachinePreference/x' }) });
  expect(found).toMatchObject({
    patch: [],
    check: [{ vms: 3, sample: 'shop/vm-1' }],
    counts: { toPatch: 3 },
    open: 3,
  });
});

test('each VM counts in one number, by what it needs', () => {
  const vms = [
    ...many(2),
    anOldVm('marked', MARKED),
    anOldVm('done', { ...MARKED, transitionLabel: null }),
    anOldVm('exempt', { optedOut: true }),
    anOldVm('snapshot', { operations: SNAPSHOT }),
    anOldVm('new', { machineType: NEW }),
    anOldVm('held', MARKED),
  ];
  const vmiFields = [{}, {}, {}, { machineType: NEW }, {}, {}, { machineType: NEW }, {}];
  const found = plan({ vms, vmiFields }, { inProgress: ['shop/held'] });
  expect(found.counts).toEqual({
    toPatch: 2,
    toRestart: 1,
    waiting: 0,
    inPools: 0,
    deferred: 1,
    restarting: 1,
    excluded: 1,
    done: 1,
  });
  expect(found.skipped).toEqual([
    { message: 'its owner opted out of disruption', isExcluded: true, count: 1, vms: ['shop/exempt'] },
    { message: 'a snapshot of it (nightly) is taken', isExcluded: false, count: 1, vms: ['shop/snapshot'] },
  ]);
  const patient = plan({ vms, vmiFields, transition: aTransition({ restartNow: false }) });
  expect(patient).toMatchObject({ admitted: [], counts: { toRestart: 0, waiting: 2 }, open: 5 });
});

describe('restarts', () => {
  test('stay within the limit, each with the intended VMI', () => {
    const vms = many(5, MARKED);
    const { admitted: take, full, counts } = plan({ vms }, { maxRestarts: 2 });
    expect(take.length).toBe(2);
    for (const { vm, vmi, uid } of take)
      expect([vmi, uid]).toEqual([`vmi-of-uid-of-${vm.slice(5)}`, `uid-of-${vm.slice(5)}`]);
    expect([full, counts.toRestart]).toEqual([['2 at a time'], 5]);
  });
  test('take only VMs that were well before, or that cost nothing; paused and failed VMs take no room', () => {
    const [paused, hopeless, ...vms] = many(4, MARKED).map((vm, index) =>
      index < 2 ? { ...vm, ready: false } : vm,
    ) as [VmView, VmView, ...VmView[]];
    const context = { vms: [paused, hopeless, ...vms], vmiFields: [{ pause: BY_USER }, { ready: false }] };
    expect(plan(context, { failed: [{ vm: namespacedName(hopeless), wasAvailable: false }] }).admitted.length).toBe(1);
    // It was available until its restart: its place is not given to another VM.
    expect(plan(context, { failed: [{ vm: namespacedName(hopeless), wasAvailable: true }] })).toMatchObject({
      admitted: [],
      full: ['1 at a time', 'shop/vm-2 not ready'],
    });
  });
  test('do not go on while a restarted VM is down again', () => {
    const done = { ...anOldVm('done', MARKED), ready: false };
    expect(plan({ vms: [done, ...many(1, MARKED)], vmiFields: [{ machineType: NEW, ready: false }] }).admitted).toEqual(
      [],
    );
  });
  test('include a VM that was recreated under the name of one that has failed', () => {
    const vms = many(1, MARKED);
    const failed = { vm: 'shop/vm-1', wasAvailable: true };
    expect(plan({ vms }, { failed: [{ ...failed, uid: vms[0]!.uid }] })).toMatchObject({
      admitted: [],
      counts: { toRestart: 0 },
    });
    expect(plan({ vms }, { failed: [{ ...failed, uid: 'another' }] })).toMatchObject({
      admitted: [{ vm: 'shop/vm-1' }],
      counts: { toRestart: 1 },
    });
  });
  test('do not include VMs that have failed', () => {
    expect(plan({ vms: many(1, MARKED) }, { failed: [{ vm: 'shop/vm-1', wasAvailable: false }] })).toMatchObject({
      admitted: [],
      counts: { toRestart: 0 },
    });
  });
  test('begin in the order that is asked for', () => {
    const vms = many(5, MARKED).map((vm, index) => ({ ...vm, labels: { group: index === 2 ? 'last' : 'first' } }));
    const [first, last] = ['first', 'last'].map((group) => ({ labelSelector: { matchLabels: { group } } }));
    const order = { orderedPolicies: [first!, last!] };
    const transition = aTransition({ order, maxRestarts: 5 });
    const { admitted: take } = plan({ vms, transition }, { maxRestarts: 5 });
    expect(take.map(({ vm }) => vm).at(-1)).toBe('shop/vm-3');
    expect(take).toHaveLength(5);
  });
  test('begin only inside a window; patches do not wait for one', () => {
    const transition = aTransition({ windows: [{ cron: '0 5 * * *', duration: '1h', timeZone: 'UTC' }] });
    const context = { vms: [...many(1), anOldVm('marked', MARKED)], transition };
    const opens = Date.parse('2026-01-02T05:00:00Z');
    expect(plan(context)).toMatchObject({
      patch: ['shop/vm-1'],
      admitted: [],
      full: ['the next window opens at 2026-01-02T05:00:00.000Z'],
      opensAt: opens,
    });
    expect(plan(context, { now: opens })).toMatchObject({
      admitted: [{ vm: 'shop/marked' }],
      full: [],
    });
    expect(plan({ vms: many(1), transition })).toMatchObject({ full: [], opensAt: null });
  });
});

describe('a VM in progress', () => {
  const vm = anOldVm('vm-1', MARKED);
  const verified = (vmi: Partial<VmiView>, fields: Partial<VmView> = {}) =>
    verificationOf(
      rulesOf(aTransition()),
      { ...vm, ...fields },
      anOldVmi(vm, { uid: 'the next', specMachineType: NEW, ...vmi }),
    );

  test('counts as such, and against the limit', () => {
    const vms = [vm, anOldVm('vm-2', MARKED)];
    expect(plan({ vms }, { inProgress: ['shop/vm-1'] })).toMatchObject({
      admitted: [],
      full: ['1 at a time'],
      counts: { toRestart: 1, restarting: 1 },
    });
    expect(plan({ vms: [] }, { inProgress: ['shop/vm-1'] })).toMatchObject({ counts: { restarting: 0 }, open: 0 });
  });
  test('is well with another type, which must be known, and then loses its label', () => {
    expect(verified({ machineType: NEW })).toEqual({ is: 'well' });
    expect(verified({ machineType: null })).toEqual({ is: 'unknown', why: 'its machine type is not known yet' });
    expect(plan({ vms: [vm], vmiFields: [{ specMachineType: NEW, machineType: NEW }] })).toMatchObject({
      unlabel: ['shop/vm-1'],
      counts: { done: 1, restarting: 0 },
    });
  });
  test('has failed with an old type, unless a user wants that', () => {
    expect(verified({ machineType: OLD })).toEqual({ is: 'wrong', message: `it came back with ${OLD}` });
    expect(verified({ machineType: OLD, specMachineType: OLD }, { machineType: OLD })).toEqual({ is: 'well' });
  });
  test('is skipped for now if it may not be restarted at this moment, and others take its place', () => {
    const vms = [vm, anOldVm('vm-2', MARKED)];
    const { admitted: take } = plan({ vms }, { isEligible: ({ name }) => name !== 'vm-1' });
    expect(take.map((one) => one.vm)).toEqual(['shop/vm-2']);
  });
});

describe('pools', () => {
  const pool = aTypedPool(OLD, { replicas: 1 });
  test('have failed with a VM that they could not update', () => {
    const changed = aTypedPool(NEW, { replicas: 1 });
    const rollout = {
      revision: revisionOf(changed.spec.template),
      startedAt: '',
      batches: 1,
      lastBatch: 1,
      step: 0,
      failures: [{ vm: 'web-1', message: 'not ready', at: '' }],
    };
    const told = { ...changed, status: { ...changed.status!, rollout } };
    const failures = [{ vm: 'shop/web-1', end: 'Failed', message: 'its pool shop/web could not update it: not ready' }];
    expect(plan({ vms: [aPoolVm(1, pool)], pool: told })).toMatchObject({ failures });
    expect(
      plan({ vms: [aPoolVm(1, pool)], pool: told }, { failed: [{ vm: 'shop/web-1', wasAvailable: true }] }),
    ).toMatchObject({ failures: [], open: 0 });
    const all = Array.from({ length: MAX_TO_CHANGE + 1 }, (_, n) => aPoolVm(n + 1, pool));
    const every = { ...rollout, failures: all.map(({ name: vm }) => ({ vm, message: 'not ready', at: '' })) };
    const of = { ...changed, status: { ...changed.status!, rollout: every } };
    expect(plan({ vms: all, pool: of }).failures).toHaveLength(MAX_TO_CHANGE);
  });
});

describe('the end of a transition', () => {
  test('comes when no VM and no label is left', () => {
    expect(plan({ vms: [anOldVm('new', { machineType: NEW })], vmiFields: [{ machineType: NEW }] }).open).toBe(0);
    expect(plan({ vms: [anOldVm('done', MARKED)], vmiFields: [{ machineType: NEW }] })).toMatchObject({
      unlabel: ['shop/done'],
      open: 1,
    });
    expect(plan({ vms: [anOldVm('exempt', { optedOut: true })] }).open).toBe(0);
    expect(plan({ vms: [anOldVm('back', { ...MARKED, machineType: OLD })] })).toMatchObject({ unlabel: ['shop/back'] });
  });
  test('does not wait for a label that cannot be removed', () => {
    const context = { vms: [anOldVm('done', MARKED)], vmiFields: [{ machineType: NEW }] };
    expect(plan(context, { failed: [{ vm: 'shop/done', wasAvailable: true }] })).toMatchObject({
      unlabel: ['shop/done'],
      open: 1,
    });
    expect(plan(context, { failed: [{ vm: 'shop/done', wasAvailable: true, keepsLabel: true }] })).toMatchObject({
      unlabel: [],
      open: 0,
    });
  });
  test('leaves no label of a transition that was terminated, and keeps labels of others and of VMs out of scope', () => {
    const vms = [
      anOldVm('new', { machineType: NEW }),
      anOldVm('exempt', { optedOut: true }),
      anOldVm('bank', { machineType: NEW, namespace: 'bank' }),
      anOldVm('goes', { deleting: true }),
    ];
    const marked = vms.map((vm) => ({ ...vm, transitionLabel: OTHER }));
    const vmiFields = vms.map(({ machineType }) => ({ machineType }));
    const transition = aTransition({ scope: { namespaces: ['shop'] } });
    expect(plan({ vms: marked, vmiFields, transition })).toMatchObject({
      unlabel: ['shop/new', 'shop/exempt'],
      open: 2,
    });
    const rules = rulesOf(transition, { othersRunning: OTHER_RUNS });
    expect(plan({ vms: marked, vmiFields, transition }, { rules }).unlabel).toEqual([]);
    // A VM that is to be changed loses the mark by the change.
    expect(
      plan({
        vms: [anOldVm('old', { transitionLabel: OTHER }), anOldVm('paused', { transitionLabel: OTHER })],
        vmiFields: [{}, { pause: BY_USER }],
      }).unlabel,
    ).toEqual([]);
  });
  test('comes early on request: nothing more starts, and what is in progress is followed', () => {
    const vms = [...many(1), anOldVm('marked', MARKED)];
    expect(plan({ vms }, { isEnding: true })).toMatchObject({ patch: [], admitted: [], check: [], open: 0 });
  });
  test('does not come in a pause, in which nothing begins', () => {
    expect(plan({ vms: [...many(1), anOldVm('marked', MARKED)] }, { mayStart: false })).toMatchObject({
      patch: [],
      admitted: [],
      open: 2,
    });
  });
});
