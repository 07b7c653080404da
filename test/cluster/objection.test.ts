import { expect, test } from 'vitest';
import {
  ClusterVirtualMachineOperations,
  Namespaces,
  Nodes,
  SelfSubjectReviews,
  VirtualMachineInstances,
  VirtualMachinePools,
  VirtualMachines,
} from '../../api/resources.ts';
import type { GivenCluster, Need } from './given/given.ts';
import { ClusterRoles } from './given/ownership.ts';
import { actionObjection, objection } from './objection.ts';

const given = { hasStandIn: false, lacks: [] as Need[] } as GivenCluster;
const own = new Set(['test-1']);
const toVm = (annotations: Record<string, unknown>, cluster = given) =>
  objection(
    cluster,
    own,
    VirtualMachines,
    { namespace: 'test-1', name: 'web-1' },
    { spec: { template: { metadata: { annotations } } } },
  );

test('a test may write anything in namespaces that it made', () => {
  expect(toVm({ team: 'shop' })).toBeUndefined();
  expect(objection(given, own, Namespaces, { name: 'test-1' }, undefined)).toBeUndefined();
  expect(objection(given, own, ClusterVirtualMachineOperations, { name: 'over-test-1' }, {})).toBeUndefined();
});

test('a test may ask for its own user, which changes nothing', () => {
  expect(objection(given, own, SelfSubjectReviews, { name: '' }, {})).toBeUndefined();
});

test.each([
  [VirtualMachines, { namespace: 'default', name: 'db' }, 'VirtualMachine db'],
  [VirtualMachines, { name: 'db' }, 'VirtualMachine db'],
  [Nodes, { name: 'test-1' }, 'Node test-1'],
  [Namespaces, { name: 'default' }, 'Namespace default'],
  [ClusterVirtualMachineOperations, { name: 'restart-all' }, 'ClusterVirtualMachineOperation restart-all'],
])('a test may not write anything else: %o %o', (resource, key, what) => {
  expect(objection(given, own, resource, key, {})).toBe(`it changes the cluster itself: ${what}`);
});

const lab = { ...given, hasStandIn: true };
const toNode = (cluster: GivenCluster, patch?: object) => objection(cluster, own, Nodes, { name: 'node-1' }, patch);
const role = (cluster: GivenCluster, name: string) => objection(cluster, own, ClusterRoles, { name }, { rules: [] });

test('nodes that a stand-in plays may be cordoned, and nothing else may be written to them', () => {
  const cordon = { spec: { unschedulable: true } };
  expect(toNode(lab, cordon)).toBeUndefined();
  for (const refused of [
    toNode(given, cordon),
    toNode(lab),
    toNode(lab, { metadata: { labels: { zone: 'a' } } }),
    toNode(lab, { ...cordon, metadata: { name: 'node-1' } }),
  ])
    expect(refused).toBe('it changes the cluster itself: Node node-1');
});

test("users of tests have rights in the whole cluster only in a lab, and under the test's own name", () => {
  expect(role(lab, 'viewer-test-1')).toBeUndefined();
  expect(role(lab, 'viewer')).toBe('it changes the cluster itself: ClusterRole viewer');
  expect(role(given, 'viewer-test-1')).toBe('it changes the cluster itself: ClusterRole viewer-test-1');
});

const toVmi = (annotations: Record<string, unknown>, cluster = given) =>
  objection(
    cluster,
    own,
    VirtualMachineInstances,
    { namespace: 'test-1', name: 'web-1' },
    { metadata: { annotations } },
  );

test.each([
  [{ 'sim.drover.dev/unschedulable': 'true' }, 'it asks the simulator for sim.drover.dev/unschedulable'],
  [{ 'sim.drover.dev/never-ready': 'true' }, 'its VMIs are never ready, not even for a moment'],
  [{ 'sim.drover.dev/boot-time': '25s' }, 'its VMIs take 25s to boot'],
  [{ 'sim.drover.dev/run-end': 'Succeeded' }, 'its VMIs shut themselves down'],
])('an objection names what only the simulator can play: %o', (annotations, reason) => {
  expect(toVm(annotations)).toBe(reason);
});

test.each([
  { 'sim.drover.dev/boot-time': '100ms' },
  { 'sim.drover.dev/fail-starts': 'always' },
  { 'sim.drover.dev/run-time': '0s', 'sim.drover.dev/run-end': 'Failed' },
])('things that real VMIs do as well are not an objection: %o', (annotations) => {
  expect(toVm(annotations)).toBeUndefined();
});

test('VMIs can be made unready if nothing looks after pods', () => {
  const never = { 'sim.drover.dev/never-ready': 'true' };
  expect(toVmi(never)).toBe('its VMIs run and are not ready');
  expect(toVmi(never, { ...given, hasStandIn: true })).toBeUndefined();
});

test('a stand-in plays live migrations, as slowly as it is told, if there are nodes for them', () => {
  const slow = { 'sim.drover.dev/migration-time': '2s' };
  expect(toVm(slow)).toBe('its VMIs migrate slowly, or not');
  expect(toVm(slow, { ...given, hasStandIn: true })).toBeUndefined();
  expect(toVm(slow, { ...given, hasStandIn: true, lacks: ['live migration'] })).toBe(
    'it needs live migration, which the cluster has not',
  );
});

const withDisk = (cluster: GivenCluster) =>
  objection(
    cluster,
    own,
    VirtualMachinePools,
    { namespace: 'test-1', name: 'web' },
    { spec: { template: { spec: { dataVolumeTemplates: [{}] } } } },
  );

test('disks need a provisioner that fills them', () => {
  expect(withDisk(given)).toBeUndefined();
  expect(withDisk({ ...given, lacks: ['DataVolumes'] })).toBe('it needs DataVolumes, which the cluster has not');
});

const path = (namespace: string, rest: string): string =>
  `/apis/subresources.kubevirt.io/v1/namespaces/${namespace}/${rest}`;

test('a VM may be restarted in namespaces of the test, and a VMI paused if its node is real', () => {
  const restart = 'virtualmachines/web-1/restart';
  const pause = 'virtualmachineinstances/web-1/pause';
  expect(actionObjection(given, own, path('test-1', restart))).toBeUndefined();
  expect(actionObjection(given, own, path('test-1', pause))).toBeUndefined();
  expect(actionObjection(given, own, path('default', restart))).toContain('it changes the cluster itself');
  expect(actionObjection({ ...given, hasStandIn: true }, own, path('test-1', pause))).toContain(
    'it asks a VMI to pause',
  );
  const stays = 'virtualmachineinstances/web-1/evacuate/cancel';
  expect(actionObjection({ ...given, hasStandIn: true }, own, path('test-1', stays))).toBeUndefined();
});

test('an object that is nested thousands of levels deep may be written like any other', () => {
  const deep = Array.from({ length: 20_000 }).reduce<object>((inner) => ({ x: inner }), {});
  const lacking: GivenCluster = { ...given, lacks: ['DataVolumes'] };
  expect(objection(lacking, own, VirtualMachinePools, { namespace: 'test-1', name: 'web' }, deep)).toBeUndefined();
});
