import { expect, test } from 'vitest';
import {
  MACHINE_TYPE_RESTART_LABEL,
  MACHINE_TYPE_TRANSITION_ANNOTATION,
  REMOVING_ANNOTATION,
  REMOVING_TO_HEAL,
} from '../../../api/labels-and-annotations.ts';
import type { Condition, ObjectMeta } from '../../../api/objects.ts';
import { nodeView, type Node } from '../../../decisions/from-object/node.ts';
import { vmView, type VirtualMachine } from '../../../decisions/from-object/vm.ts';
import { isDrained } from '../../../decisions/views/drained-node.ts';

const stored = {
  metadata: {
    namespace: 'shop',
    name: 'web',
    uid: 'uid',
    resourceVersion: '1',
    creationTimestamp: '2026-01-02T03:04:05Z',
  },
};
const view = (metadata: Partial<ObjectMeta> = {}, spec: VirtualMachine['spec'] = {}) =>
  vmView({ metadata: { ...stored.metadata, ...metadata }, spec });

const record = {
  id: '0a1b2c3d',
  from: 'pc-q35-rhel8.6.0',
  to: 'pc-q35-rhel9.6.0',
  vmiType: null,
  at: '2026-01-02T03:04:05Z',
};
const noted = (text: string) => view({ annotations: { [MACHINE_TYPE_TRANSITION_ANNOTATION]: text } }).transition;

test('the view of an empty VM has nothing made up', () => {
  expect(view()).toMatchObject({
    machineType: null,
    architecture: null,
    nodeSelector: {},
    preference: null,
    transition: null,
    transitionLabel: null,
    ownLabels: {},
  });
  expect(view({}, { template: { spec: { domain: { machine: { type: '' } } } } }).machineType).toBeNull();
});

test('the view has its machine type, and what decides on the type that it gets if its own is cleared', () => {
  const spec = {
    preference: { kind: 'VirtualMachinePreference', name: 'rhel' },
    template: { spec: { architecture: 'arm64', domain: { machine: { type: 'virt' } } } },
  };
  expect(view({}, spec)).toMatchObject({
    machineType: 'virt',
    architecture: 'arm64',
    preference: 'VirtualMachinePreference/shop/rhel',
  });
  expect(view({}, { preference: { name: 'rhel' } }).preference).toBe('VirtualMachineClusterPreference/rhel');
});

const marked = (mark: string): Partial<ObjectMeta> => ({ annotations: { [REMOVING_ANNOTATION]: mark } });

test('the view says since when it leaves: by its deletion, or by the label of a VM that was halted to leave', () => {
  const [halted, deleted] = ['2026-01-02T03:04:05.678Z', '2026-01-02T03:05:00Z'];
  expect(view()).toMatchObject({ removing: false, deleting: false, leavingSince: null });
  expect(view(marked(halted))).toMatchObject({ removing: true, leavingSince: Date.parse(halted) });
  expect(view({ ...marked(halted), deletionTimestamp: deleted })).toMatchObject({
    deleting: true,
    leavingSince: Date.parse(deleted),
  });
  expect(view(marked(REMOVING_TO_HEAL))).toMatchObject({ removing: true, leavingSince: null });
});

const copyOf = (vm: string, generation: number) =>
  `${vm}-rhel-v1beta1-5f2c1d3e-0000-4000-8000-00000000000a-${generation}`;
const kept = (preference: object, ref?: object) =>
  vmView({ ...stored, spec: { preference }, ...(ref && { status: { preferenceRef: ref } }) }).preference;
const ref = (copy: string, name = 'rhel') => ({ name, controllerRevisionRef: { name: copy } });

test('a VM refers to the copy of its preference that KubeVirt made, which many VMs share', () => {
  const rhel = 'VirtualMachineClusterPreference/rhel';
  expect(kept({ name: 'rhel' }, ref(copyOf('web', 3)))).toBe(`${rhel}@3-5f2c1d3e`);
  expect(kept({ name: 'rhel' }, ref(copyOf('other', 3)))).toBe(`${rhel}@3-5f2c1d3e`);
  expect(kept({ name: 'rhel' }, ref(copyOf('web', 4)))).toBe(`${rhel}@4-5f2c1d3e`);
  expect(kept({ name: 'rhel', revisionName: copyOf('web', 2) }, ref(copyOf('web', 4)))).toBe(`${rhel}@2-5f2c1d3e`);
  expect(kept({ name: 'rhel', revisionName: 'mine' })).toBe(`${rhel}@mine`);
  expect(kept({ name: 'rhel' }, ref(copyOf('web', 3), 'fedora'))).toBe(rhel);
});

test('the view has its own labels, and below them those of its template', () => {
  const { labels, ownLabels } = view(
    { labels: { tier: 'a' } },
    { template: { metadata: { labels: { tier: 'b', zone: 'c' } } } },
  );
  expect(ownLabels).toEqual({ tier: 'a' });
  expect(labels).toEqual({ tier: 'a', zone: 'c' });
});

test('the view has what a machine type transition has written, and nothing of it that another client made', () => {
  expect(noted(JSON.stringify({ ...record, more: 1 }))).toEqual(record);
  expect(noted(JSON.stringify({ ...record, vmiType: 'pc-q35-rhel8.6.0' }))?.vmiType).toBe('pc-q35-rhel8.6.0');
  for (const text of [
    '',
    '{',
    'null',
    '[]',
    '"x"',
    '{}',
    JSON.stringify({ ...record, to: 1 }),
    JSON.stringify({ ...record, vmiType: undefined }),
  ])
    expect(noted(text)).toBeNull();
  expect(view({ labels: { [MACHINE_TYPE_RESTART_LABEL]: record.id } }).transitionLabel).toBe(record.id);
});

const failureOf = (...conditions: Condition[]) => vmView({ ...stored, spec: {}, status: { conditions } }).failure;

test('the reason why KubeVirt could not make the VMI is that of its condition Failure, while that stands', () => {
  expect(failureOf({ type: 'Failure', status: 'True', reason: 'FailedCreate', message: 'denied' })).toBe('denied');
  expect(failureOf({ type: 'Failure', status: 'True', reason: 'FailedCreate' })).toBe('FailedCreate');
  expect(failureOf({ type: 'Failure', status: 'False', message: 'denied' })).toBeNull();
  expect(failureOf()).toBeNull();
});

test('the zone and the machine types of a node are those of its labels; a cordoned node takes no VMI', () => {
  const labels = {
    'topology.kubernetes.io/zone': 'east',
    'machine-type.node.kubevirt.io/q35': 'true',
    'machine-type.node.kubevirt.io/pc': 'false',
    other: 'true',
  };
  const status = { conditions: [{ type: 'Ready', status: 'True' }] };
  expect(nodeView({ metadata: { name: 'n', labels }, status })).toEqual({
    name: 'n',
    zone: 'east',
    labels,
    ready: true,
    schedulable: true,
    machineTypes: ['q35'],
  });
  expect(nodeView({ metadata: { name: 'n' }, spec: { unschedulable: true }, status })).toEqual({
    name: 'n',
    zone: null,
    ready: true,
    schedulable: false,
    taints: ['node.kubernetes.io/unschedulable'],
    machineTypes: [],
  });
  expect(nodeView({ metadata: { name: 'n' } })).toMatchObject({ ready: false, schedulable: false });
});

test.each<[string, Node['spec'], boolean]>([
  ['cordoned', { unschedulable: true }, true],
  ['tainted by KubeVirt', { taints: [{ key: 'kubevirt.io/drain', effect: 'NoSchedule' }] }, true],
  ['tainted by the key that KubeVirt was given', { taints: [{ key: 'our/drain', effect: 'NoSchedule' }] }, true],
  ['emptied by a node autoscaler', { taints: [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }] }, true],
  ['emptied by an old Karpenter', { taints: [{ key: 'karpenter.sh/disruption', effect: 'NoSchedule' }] }, true],
  ['thought of', { taints: [{ key: 'kubevirt.io/drain', effect: 'PreferNoSchedule' }] }, false],
  ['for some pods only', { taints: [{ key: 'gpu', effect: 'NoSchedule' }] }, false],
  ['as others', {}, false],
])('a node that is %s is drained or not', (_what, spec, expected) => {
  const taint = spec?.taints?.[0]?.key === 'our/drain' ? 'our/drain' : 'kubevirt.io/drain';
  expect(isDrained(nodeView({ metadata: { name: 'n' }, spec: spec! }), taint)).toBe(expected);
});

test('a template of VMIs without labels, or metadata, has none', () => {
  const labels = { app: 'web' };
  for (const metadata of [null, {}, { labels: null }])
    expect(view({ labels }, { template: { metadata } })).toMatchObject({ labels, revision: null });
});
