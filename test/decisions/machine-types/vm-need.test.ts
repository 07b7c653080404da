import { describe, expect, test } from 'vitest';
import type { TransitionRulesInput } from '../../../decisions/machine-types/transition-rules.ts';
import type { Transition } from '../../../decisions/machine-types/transition.ts';
import { transitionNeed, type TransitionNeed } from '../../../decisions/machine-types/vm-need.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { BY_USER, SNAPSHOT } from '../fixtures/fleets.ts';
import {
  anOldVm,
  anOldVmi,
  aTransition,
  ID,
  NEW,
  OLD,
  OTHER,
  OTHER_RUNS,
  snapshotOf,
  recordOfOurs,
  resultOf,
  rulesOf,
} from './snapshots.ts';

type Vmi = Partial<VmiView> | null;

function needOf(
  fields: Partial<VmView>,
  vmi: Vmi,
  transition: Transition = aTransition(),
  input: Partial<TransitionRulesInput> = {},
): TransitionNeed {
  const vm = anOldVm('web-1', { hasVmi: vmi !== null, ...fields });
  return transitionNeed(
    rulesOf(transition, input),
    vm,
    snapshotOf([vm], { vmis: vmi === null ? [] : [anOldVmi(vm, vmi)] }),
  );
}

test('a VM outside the namespaces of the transition needs nothing, whatever it records', () => {
  const elsewhere = { ...aTransition(), scope: { ...aTransition().scope, namespaces: ['elsewhere'] } };
  const changed = { machineType: NEW, transition: recordOfOurs() };
  expect(needOf(changed, { machineType: OLD, specMachineType: OLD })).not.toEqual({ need: 'nothing' });
  expect(needOf(changed, { machineType: OLD, specMachineType: OLD }, elsewhere)).toEqual({ need: 'nothing' });
});

const STOPPED = { runStrategy: 'Halted' };
const CHANGED = { machineType: NEW, transition: recordOfOurs() };
const VMI_OF_OLD_TYPE = { machineType: OLD, specMachineType: OLD };

describe('an untouched VM', () => {
  test.each<[string, Partial<VmView>, Vmi, object]>([
    ['is patched, and marked while it runs', {}, {}, { need: 'patch', to: null, setsLabel: true }],
    ['is patched without a mark if it is stopped', STOPPED, null, { need: 'patch', to: null, setsLabel: false }],
    [
      'is patched without a mark if its VMI has a new type',
      {},
      { machineType: NEW },
      { need: 'patch', setsLabel: false },
    ],
    [
      'is patched while its VMI comes up with the old type',
      { ready: false },
      { machineType: null },
      { need: 'patch', setsLabel: true },
    ],
    ['is marked if its VMI alone is old', { machineType: 'q35' }, { machineType: OLD }, { need: 'label' }],
    ['is not old with a new type', { machineType: NEW }, {}, { need: 'nothing' }],
    [
      'is not old with an alias, whatever a VMI that comes up will get',
      { machineType: 'q35' },
      { machineType: null },
      { need: 'nothing' },
    ],
    ['is not old without a VMI, with an alias', { machineType: 'q35', ...STOPPED }, null, { need: 'nothing' }],
    ['is left alone if it goes', { deleting: true }, {}, { need: 'nothing' }],
    ['is left alone if it leaves its pool', { removing: true }, {}, { need: 'nothing' }],
    ['is left as its owner asked', { optedOut: true }, {}, { need: 'excluded' }],
    ['waits while it is paused', {}, { pause: BY_USER }, { need: 'deferred', message: 'it is paused by a user' }],
    [
      'waits while it migrates',
      {},
      { migration: { name: 'm', phase: 'Running', createdAt: 0 } },
      { need: 'deferred', message: 'it migrates (m)' },
    ],
    ['waits while a snapshot of it is taken', { operations: SNAPSHOT, ...STOPPED }, null, { need: 'deferred' }],
    ['waits while it receives a migration', { runStrategy: 'WaitAsReceiver' }, null, { need: 'deferred' }],
    [
      'is taken over from a transition that is over',
      { transitionLabel: OTHER, transition: recordOfOurs({ id: OTHER }), machineType: NEW },
      VMI_OF_OLD_TYPE,
      { need: 'label' },
    ],
  ])('%s', (_words, fields, vmi, need) => expect(needOf(fields, vmi)).toMatchObject(need));

  test('gets the requested type', () => {
    const to = 'pc-q35-rhel9.4.0';
    expect(needOf({}, {}, aTransition({ to }))).toEqual({ need: 'patch', to, setsLabel: true });
  });

  test('is left to another running transition, and is reported', () => {
    const othersRunning = OTHER_RUNS;
    const why = 'operation shop/other is changing it, until that ends or is aborted';
    expect(needOf({ transitionLabel: OTHER }, {}, undefined, { othersRunning })).toEqual({
      need: 'deferred',
      message: why,
      until: null,
    });
    expect(needOf({ transition: recordOfOurs({ id: OTHER }), ...STOPPED }, null, undefined, { othersRunning })).toEqual(
      { need: 'deferred', message: why, until: null },
    );
    expect(needOf({ transitionLabel: OTHER, machineType: NEW }, {}, undefined, { othersRunning })).toEqual({
      need: 'nothing',
    });
  });

  test('is out of scope by its name, or by its state', () => {
    expect(needOf({}, {}, aTransition({ scope: { names: ['web-2'] } }))).toEqual({ need: 'nothing' });
    expect(needOf({}, {}, aTransition({ scope: { only: 'stopped' } }))).toEqual({ need: 'nothing' });
  });
});

describe('the resulting type', () => {
  const vm = anOldVm('web-1');
  const faulty = (to: string, force: boolean) =>
    needOf({}, {}, aTransition({ force }), { results: [resultOf(vm, null, { to, fault: 'it will not do' })] });
  test('must be known first', () => {
    expect(needOf({}, {}, undefined, { results: [] })).toEqual({
      need: 'check',
      group: { from: OLD, wanted: null, architecture: null, preference: null },
    });
    expect(needOf({ preference: 'VirtualMachinePreference/x' }, {})).toMatchObject({ need: 'check' });
    expect(needOf({ architecture: 'arm64' }, {})).toMatchObject({ need: 'check' });
  });
  test('must be acceptable; with force a type that no node has yet is, and one that is old again never is', () => {
    expect(faulty(NEW, false)).toEqual({ need: 'excluded', message: 'it will not do' });
    expect(faulty(NEW, true)).toMatchObject({ need: 'patch' });
    expect(faulty('pc-q35-rhel8.8.0', true)).toEqual({
      need: 'excluded',
      message: 'it would come back as pc-q35-rhel8.8.0',
    });
  });
});

describe('a VM that this transition has changed', () => {
  test.each<[string, Partial<VmView>, Vmi, object]>([
    ['is restarted while its VMI is old', {}, VMI_OF_OLD_TYPE, { need: 'restart', vmi: { vmUid: 'uid-of-web-1' } }],
    ['is done with a new VMI', {}, { machineType: NEW }, { need: 'done' }],
    ['is done without a VMI', STOPPED, null, { need: 'done' }],
    ['is done once its VMI goes', {}, { ...VMI_OF_OLD_TYPE, deleting: true }, { need: 'done' }],
    ['is done while a VMI of the new type comes up', {}, { machineType: null, specMachineType: NEW }, { need: 'done' }],
    [
      'waits if nobody knows yet what its VMI gets for an alias',
      { machineType: 'q35' },
      { machineType: null, specMachineType: 'q35' },
      { need: 'wait' },
    ],
    [
      'is restarted for an alias if its VMI asks for the old type and may never run',
      { machineType: 'q35' },
      { machineType: null, specMachineType: OLD },
      { need: 'restart' },
    ],
    ['waits for the next VMI too, if it is to have one', { machineType: 'q35' }, null, { need: 'wait' }],
    ['is done with an alias if it is stopped', { machineType: 'q35', ...STOPPED }, null, { need: 'done' }],
    ['is not restarted while it is paused', {}, { ...VMI_OF_OLD_TYPE, pause: BY_USER }, { need: 'deferred' }],
    ['is not restarted any more if its owner asks', { optedOut: true }, VMI_OF_OLD_TYPE, { need: 'excluded' }],
    [
      'is left if somebody has set it back',
      { machineType: OLD },
      VMI_OF_OLD_TYPE,
      { need: 'excluded', message: `its machine type was set to ${OLD} since` },
    ],
    [
      'is done with another new type that somebody has set',
      { machineType: 'pc-q35-rhel9.8.0' },
      { machineType: NEW },
      { need: 'done' },
    ],
  ])('%s', (_words, fields, vmi, need) => expect(needOf({ ...CHANGED, ...fields }, vmi)).toMatchObject(need));

  test('keeps waiting, and is reported, if it was restarted and came back with the old type', () => {
    const transition = recordOfOurs({ from: 'q35', to: 'q35', vmiUid: 'the first' });
    const patient = aTransition({ restartNow: false });
    const since = (uid: string, machineType: string | null) =>
      needOf({ machineType: 'q35', transition }, { specMachineType: 'q35', machineType, uid }, patient);
    expect(since('the first', OLD)).toEqual({ need: 'wait', message: null });
    expect(since('another', null)).toEqual({ need: 'wait', message: null });
    expect(since('another', OLD)).toEqual({
      need: 'wait',
      message: `it was restarted, and came back with ${OLD}: q35 still stands for that`,
    });
    expect(since('another', NEW)).toEqual({ need: 'done' });
  });

  test.each<[string, string | null, TransitionNeed['need'], boolean]>([
    ['the type that its VM is to have', NEW, 'done', false],
    ['another type', 'pc-q35-rhel9.4.0', 'restart', true],
    ['no type yet', null, 'restart', true],
  ])('has a VMI of an alias which is to go, that runs with %s', (_words, machineType, need, marks) => {
    const aliased = aTransition({ scope: { glob: 'q35' }, to: NEW });
    const vmi = { specMachineType: 'q35', machineType };
    const results = [resultOf(anOldVm('any', { machineType: 'q35' }), NEW)];
    expect(needOf({ machineType: 'q35' }, vmi, aliased, { results })).toEqual({
      need: 'patch',
      to: NEW,
      setsLabel: marks,
    });
    expect(needOf({ ...CHANGED, transition: recordOfOurs({ from: 'q35' }) }, vmi, aliased)).toMatchObject({ need });
    // Not changed: the VM's spec does not ask for the alias.
    expect(needOf({ machineType: NEW }, vmi, aliased)).toEqual({ need: machineType === null ? 'label' : 'nothing' });
  });

  test('is skipped, naming the foreign owner that may have reverted the change', () => {
    const owner = { kind: 'VirtualMachinePool', name: 'theirs', uid: 'of-kubevirt' };
    const why = `its machine type was set to ${OLD} since: perhaps its owner, VirtualMachinePool theirs, whose template drover must not change`;
    expect(needOf({ ...CHANGED, machineType: OLD, owner }, VMI_OF_OLD_TYPE)).toEqual({
      need: 'excluded',
      message: why,
    });
  });

  test('is labelled if its VMI was started from the old spec during the change', () => {
    const started = { ...CHANGED, transition: recordOfOurs({ vmiType: null }) };
    for (const restartNow of [true, false])
      expect(needOf(started, VMI_OF_OLD_TYPE, aTransition({ restartNow }))).toEqual({ need: 'label' });
    expect(needOf(started, { machineType: NEW })).toEqual({ need: 'done' });
  });
  test('waits for its owner if requested, even while it is paused or opted out', () => {
    const patient = aTransition({ restartNow: false });
    for (const fields of [{}, { optedOut: true }])
      expect(needOf({ ...CHANGED, ...fields }, { ...VMI_OF_OLD_TYPE, pause: BY_USER }, patient)).toEqual({
        need: 'wait',
        message: null,
      });
    expect(needOf(CHANGED, { machineType: NEW }, patient)).toEqual({ need: 'done' });
  });

  test('is followed even if it no longer matches the scope', () => {
    const narrow = aTransition({ scope: { only: 'stopped', labelSelector: { matchLabels: { tier: 'a' } } } });
    expect(needOf(CHANGED, VMI_OF_OLD_TYPE, narrow)).toMatchObject({ need: 'restart' });
  });
});

describe('an undo', () => {
  const undo = aTransition({ scope: { undoes: OTHER } });
  const theirs = { machineType: NEW, transition: recordOfOurs({ id: OTHER }) };
  const results = [resultOf(anOldVm('any', { machineType: NEW }), OLD)];
  const needOfUndo = (fields: Partial<VmView>, vmi: Vmi) => needOf({ ...theirs, ...fields }, vmi, undo, { results });

  test('sets the original type, and labels a VMI that has been started since', () => {
    expect(needOfUndo({}, { specMachineType: NEW })).toEqual({ need: 'patch', to: OLD, setsLabel: true });
    expect(needOfUndo({}, VMI_OF_OLD_TYPE)).toEqual({ need: 'patch', to: OLD, setsLabel: false });
    expect(needOfUndo(STOPPED, null)).toEqual({ need: 'patch', to: OLD, setsLabel: false });
  });
  test('is of an operation that it names, or gives the UID of', () => {
    const byName = aTransition({ scope: { undoes: 'forward' } });
    const named = { machineType: NEW, transition: recordOfOurs({ id: OTHER, by: 'forward' }) };
    expect(needOf(named, VMI_OF_OLD_TYPE, byName, { results })).toMatchObject({ need: 'patch', to: OLD });
    expect(needOf(theirs, VMI_OF_OLD_TYPE, byName, { results })).toEqual({ need: 'nothing' });
    expect(needOf({ ...named, machineType: 'q35' }, {}, byName, { results })).toMatchObject({ need: 'excluded' });
  });
  test('checks first whether that type can still be set', () => {
    expect(needOf(theirs, {}, undo, { results: [] })).toMatchObject({
      need: 'check',
      group: { from: NEW, wanted: OLD },
    });
  });
  test('keeps what a user has changed since, and says so', () => {
    expect(needOfUndo({ machineType: 'pc-q35-rhel9.8.0' }, {})).toEqual({
      need: 'excluded',
      message: 'its machine type was set to pc-q35-rhel9.8.0 since',
    });
  });
  test('does not concern a VM that the transition did not change', () => {
    expect(needOfUndo({ transition: recordOfOurs({ id: '88888888' }) }, {})).toEqual({ need: 'nothing' });
    expect(needOfUndo({ transition: null, machineType: OLD }, {})).toEqual({ need: 'nothing' });
    expect(
      needOfUndo({ machineType: 'q35', transition: recordOfOurs({ id: OTHER, from: 'q35', to: 'q35' }) }, {}),
    ).toEqual({ need: 'nothing' });
  });
  test('restarts a VM that it has changed until a VMI was started from that spec', () => {
    const own = { machineType: OLD, transition: recordOfOurs({ id: ID, from: NEW, to: OLD }) };
    expect(needOf(own, { machineType: NEW, specMachineType: NEW }, undo)).toMatchObject({ need: 'restart' });
    expect(needOf(own, VMI_OF_OLD_TYPE, undo)).toEqual({ need: 'done' });
    expect(needOf({ ...own, machineType: NEW }, VMI_OF_OLD_TYPE, undo)).toMatchObject({ need: 'excluded' });
  });
});
