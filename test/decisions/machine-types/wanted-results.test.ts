import { expect, test } from 'vitest';
import { newRecord } from '../../../decisions/machine-types/new-record.ts';
import { faultOf, restartable, wantedResults } from '../../../decisions/machine-types/wanted-results.ts';
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
  snapshotOf,
  recordOfOurs,
  resultOf,
  rulesOf,
} from './snapshots.ts';

test('VMs are grouped by all that determines their resulting type, with deferred VMs, but not of pools whose templates are old', () => {
  const pool = aTypedPool(OLD);
  const vms = [
    anOldVm('vm-1'),
    anOldVm('vm-2', { operations: SNAPSHOT }),
    anOldVm('vm-3', { preference: 'VirtualMachinePreference/x' }),
    anOldVm('vm-4', { architecture: 'arm64' }),
    anOldVm('vm-5', { machineType: 'pc-q35-rhel8.2.0' }),
    anOldVm('vm-6', { machineType: NEW }),
    anOldVm('vm-7', { optedOut: true }),
    aPoolVm(1, pool),
  ];
  const group = { from: OLD, wanted: null, architecture: null, preference: null };
  const found = wantedResults(rulesOf(aTransition(), { results: [] }), vms, snapshotOf(vms, { pool }));
  expect(found).toEqual([
    { group, vms: 2, sample: 'shop/vm-1' },
    { group: { ...group, preference: 'VirtualMachinePreference/x' }, vms: 1, sample: 'shop/vm-3' },
    { group: { ...group, architecture: 'arm64' }, vms: 1, sample: 'shop/vm-4' },
    { group: { ...group, from: 'pc-q35-rhel8.2.0' }, vms: 1, sample: 'shop/vm-5' },
  ]);
  const results = [resultOf(vms[0]!, null)];
  expect(wantedResults(rulesOf(aTransition(), { results }), vms, snapshotOf(vms, { pool })).length).toBe(3);
});

test('a percentage of restarts is of all VMs that run and may be restarted here, not of those that pools roll', () => {
  const pool = aTypedPool(OLD);
  const free = [anOldVm('vm-1'), anOldVm('alias', { machineType: 'q35' }), anOldVm('paused')];
  const others = [
    anOldVm('off', { runStrategy: 'Halted', hasVmi: false }),
    anOldVm('new', { machineType: NEW }),
    anOldVm('exempt', { optedOut: true }),
    ...[1, 2, 3].map((number) => aPoolVm(number, pool)),
  ];
  const vms = [...free, ...others];
  const vmis = vms
    .filter(({ hasVmi }) => hasVmi)
    .map((vm) =>
      anOldVmi(vm, {
        ...(vm.machineType === 'q35' ? { machineType: OLD } : {}),
        pause: vm.name === 'paused' ? BY_USER : null,
      }),
    );
  for (const results of [[], undefined]) {
    const rules = rulesOf(aTransition(), results === undefined ? {} : { results });
    expect(restartable(rules, vms, snapshotOf(vms, { vmis, pool }))).toBe(3);
  }
  const typeless = aTypedPool(null);
  const like = [aPoolVm(1, typeless)];
  expect(restartable(rulesOf(aTransition()), like, snapshotOf(like, { pool: typeless }))).toBe(1);
});

const node = (machineTypes: string[], schedulable = true) => ({ machineTypes, schedulable });

test('a resulting type must be different, and a schedulable node must have it if nodes name their types', () => {
  const rules = rulesOf(aTransition());
  expect(faultOf(rules, NEW, [])).toBeNull();
  expect(faultOf(rules, NEW, [node([]), node([])])).toBeNull();
  expect(faultOf(rules, NEW, [node([OLD]), node([NEW])])).toBeNull();
  expect(faultOf(rules, '', [node([OLD])])).toBeNull();
  expect(faultOf(rules, NEW, [node([OLD]), node([NEW], false)])).toBe(`no schedulable node has ${NEW}`);
  expect(faultOf(rules, OLD, [node([OLD])])).toBe(
    'it still matches *rhel8.*: a preference, or the default of the cluster, brings it back',
  );
  expect(faultOf(rulesOf(aTransition({ to: OLD })), OLD, [])).toBe('it still matches *rhel8.*');
  expect(faultOf(rulesOf(aTransition({ scope: { undoes: OTHER } })), OLD, [])).toBeNull();
});

test('a record names the original and the running type, and the original survives a second transition', () => {
  const change = { id: ID, to: NEW, at: '2026-01-02T03:04:05Z' };
  const vm = anOldVm('vm-1');
  expect(newRecord(vm, anOldVmi(vm, { uid: 'vmi-uid' }), change)).toEqual({
    ...change,
    from: OLD,
    vmiType: OLD,
    vmiUid: 'vmi-uid',
  });
  expect(newRecord(vm, undefined, change)).toEqual({ ...change, from: OLD, vmiType: null });
  expect(newRecord(vm, anOldVmi(vm, { machineType: null }), change).vmiType).toBe(OLD);
  expect(newRecord(vm, anOldVmi(vm, { phase: 'Failed' }), change).vmiType).toBeNull();
  const changed = { ...vm, machineType: NEW, transition: recordOfOurs({ id: OTHER }) };
  const vmiType = anOldVmi(changed, { machineType: OLD });
  expect(newRecord(changed, vmiType, change).from).toBe(OLD);
  // This VMI started later, with a type that it was not recorded with: the earlier record does not apply.
  expect(newRecord(changed, { ...vmiType, machineType: 'pc-q35-rhel8.8.0' }, change).from).toBe(NEW);
  // The VMI was never of that spec: the other transition's change was complete at once, and must not be undone with
  // this one.
  const doneAtOnce = { ...changed, transition: recordOfOurs({ id: OTHER, vmiType: 'pc-q35-rhel8.8.0' }) };
  expect(newRecord(doneAtOnce, { ...vmiType, machineType: 'pc-q35-rhel8.8.0' }, change).from).toBe(NEW);
  const ofAlias = { ...changed, transition: recordOfOurs({ id: OTHER, from: 'q35', vmiType: OLD }) };
  expect(newRecord(ofAlias, vmiType, change).from).toBe('q35');
  // A record of this transition: the VMI was started from the old spec while the spec was being changed.
  expect(newRecord({ ...changed, transition: recordOfOurs({ vmiType: null }) }, vmiType, change)).toEqual({
    ...change,
    from: OLD,
    vmiType: OLD,
    vmiUid: vmiType.uid,
  });
  expect(newRecord(changed, vmiType, { ...change, to: 'pc-q35-rhel9.8.0' }).from).toBe(NEW);
});
