import { expect, test } from 'vitest';
import type { Changed } from '../../../activities/cache/changes.ts';
import type { ClusterCache } from '../../../activities/cache/cluster-cache.ts';
import { isRelevantToTransition } from '../../../activities/machine-types/relevant-change.ts';
import { transitionRules } from '../../../decisions/machine-types/criteria.ts';
import type { Transition, TransitionRecord } from '../../../decisions/machine-types/transition.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { aVm, aVmi } from '../../decisions/fixtures/fleets.ts';

const OLD = 'pc-q35-rhel8.6.0';
const ID = '0a1b2c3d';
const record: TransitionRecord = { id: ID, from: OLD, to: 'q35', vmiType: OLD, at: '2026-01-02T03:04:05Z' };
const transition: Transition = {
  scope: {
    glob: '*rhel8.*',
    namespaces: ['shop'],
    labelSelector: null,
    names: [],
    exclude: [],
    only: null,
    undoes: null,
  },
  to: null,
  restartNow: false,
  maxRestarts: 1,
  maxFailures: 0,
  deadlineMs: 1,
  windows: [],
  force: false,
  requestedBy: 'ada',
  reason: null,
};
const rules = transitionRules({
  ref: { cluster: 'default', id: ID },
  transition,
  results: [],
  othersRunning: new Set(),
});

function isRelevant(vm: VmView, vmi: VmiView | undefined, changed: Changed['change']): boolean {
  const cache = {
    vms: { get: (key: string) => (key === `${vm.namespace}/${vm.name}` ? vm : undefined), ownedBy: () => [] },
    vmiOf: () => vmi,
  } as unknown as ClusterCache;
  return isRelevantToTransition(
    cache,
    rules,
  )({ kind: changed.kind, namespace: vm.namespace, name: vm.name, change: changed });
}
const vmChange = (fields: Partial<VmView>, change: Partial<VmView>, vmi: Partial<VmiView> = {}): boolean => {
  const before = aVm('vm', fields);
  const after = { ...before, resourceVersion: '2', ...change };
  return isRelevant(after, aVmi(after, vmi), { kind: 'vm', before, after });
};

test('ignores VMs with another type that belong to no transition', () => {
  expect(vmChange({}, { ready: false })).toBe(false);
  expect(vmChange({ transition: { ...record, id: 'ffffffff' } }, { ready: false })).toBe(false);
});

test('a VM of an old type is, and one that becomes so or stops being so, but not if nothing has changed', () => {
  expect(vmChange({ machineType: OLD }, { ready: false })).toBe(true);
  expect(vmChange({}, { machineType: OLD })).toBe(true);
  expect(vmChange({ machineType: OLD }, { machineType: 'q35' })).toBe(true);
  expect(vmChange({ machineType: OLD }, {})).toBe(false);
});

test('VMs with an old VMI are relevant, and so are VMs that the transition has marked or changed', () => {
  expect(vmChange({ machineType: 'q35' }, { ready: false }, { machineType: OLD })).toBe(true);
  expect(vmChange({ transitionMark: ID }, { ready: false })).toBe(true);
  expect(vmChange({ transition: record }, { ready: false })).toBe(true);
});

test('ignores VMs of other namespaces, unless they carry the mark', () => {
  expect(vmChange({ namespace: 'other', machineType: OLD }, { ready: false })).toBe(false);
  expect(vmChange({ namespace: 'other', machineType: OLD, transitionMark: ID }, { ready: false })).toBe(true);
});

test('creation and deletion of a VMI are relevant if the VMI or its VM is', () => {
  const vm = aVm('vm', { machineType: 'q35' });
  const vmi = aVmi(vm, { machineType: OLD });
  expect(isRelevant(vm, undefined, { kind: 'vmi', before: vmi, after: undefined })).toBe(true);
  expect(isRelevant(vm, undefined, { kind: 'vmi', before: aVmi(vm), after: undefined })).toBe(false);
  expect(
    isRelevant(aVm('vm', { transitionMark: ID }), undefined, { kind: 'vmi', before: undefined, after: aVmi(vm) }),
  ).toBe(true);
});
