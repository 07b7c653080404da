import { expect, test } from 'vitest';
import { nodeView } from '../../activities/node-view.ts';
import { vmView, type VirtualMachine } from '../../activities/vm-view.ts';
import { MACHINE_TYPE_RESTART_LABEL, MACHINE_TYPE_TRANSITION_ANNOTATION } from '../../api/names.ts';
import type { ObjectMeta } from '../../kubernetes/objects.ts';

const view = (metadata: Partial<ObjectMeta> = {}, spec: VirtualMachine['spec'] = {}) =>
  vmView({
    metadata: { namespace: 'shop', name: 'web', uid: 'uid', resourceVersion: '1', creationTimestamp: '2026-01-02T03:04:05Z', ...metadata },
    spec,
  });

const record = { id: '0a1b2c3d', from: 'pc-q35-rhel8.6.0', to: 'pc-q35-rhel9.6.0', guest: null, at: '2026-01-02T03:04:05Z' };
const noted = (text: string) => view({ annotations: { [MACHINE_TYPE_TRANSITION_ANNOTATION]: text } }).transition;

test('of a VM that says nothing, nothing is made up', () => {
  expect(view()).toMatchObject({ machineType: null, architecture: null, preference: null, transition: null, transitionMark: null, ownLabels: {} });
  expect(view({}, { template: { spec: { domain: { machine: { type: '' } } } } }).machineType).toBeNull();
});

test('its machine type, and what decides on the one that it gets where its own is cleared', () => {
  const spec = { preference: { kind: 'VirtualMachinePreference', name: 'rhel' }, template: { spec: { architecture: 'arm64', domain: { machine: { type: 'virt' } } } } };
  expect(view({}, spec)).toMatchObject({ machineType: 'virt', architecture: 'arm64', preference: 'VirtualMachinePreference/rhel' });
  expect(view({}, { preference: { name: 'rhel' } }).preference).toBe('VirtualMachineClusterPreference/rhel');
});

test('its own labels, and below them those of its template', () => {
  const { labels, ownLabels } = view({ labels: { tier: 'a' } }, { template: { metadata: { labels: { tier: 'b', zone: 'c' } } } });
  expect(ownLabels).toEqual({ tier: 'a' });
  expect(labels).toEqual({ tier: 'a', zone: 'c' });
});

test('what a machine type transition has written, and nothing that another hand made of it', () => {
  expect(noted(JSON.stringify({ ...record, more: 1 }))).toEqual(record);
  expect(noted(JSON.stringify({ ...record, guest: 'pc-q35-rhel8.6.0' }))?.guest).toBe('pc-q35-rhel8.6.0');
  for (const text of ['', '{', 'null', '[]', '"x"', '{}', JSON.stringify({ ...record, to: 1 }), JSON.stringify({ ...record, guest: undefined })]) expect(noted(text)).toBeNull();
  expect(view({ labels: { [MACHINE_TYPE_RESTART_LABEL]: record.id } }).transitionMark).toBe(record.id);
});

test('the machine types of a node are those that KubeVirt labels it with; a cordoned one takes no guest', () => {
  const labels = { 'machine-type.node.kubevirt.io/q35': 'true', 'machine-type.node.kubevirt.io/pc': 'false', other: 'true' };
  const status = { conditions: [{ type: 'Ready', status: 'True' }] };
  expect(nodeView({ metadata: { name: 'n', labels }, status })).toEqual({ name: 'n', ready: true, schedulable: true, machineTypes: ['q35'] });
  expect(nodeView({ metadata: { name: 'n' }, spec: { unschedulable: true }, status })).toEqual({ name: 'n', ready: true, schedulable: false, machineTypes: [] });
  expect(nodeView({ metadata: { name: 'n' } })).toMatchObject({ ready: false, schedulable: false });
});
