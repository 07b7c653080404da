import { describe, expect, test } from 'vitest';
import type { Condition, Stored } from '../../../api/objects.ts';
import { vmiView, type VirtualMachineInstance } from '../../../decisions/from-object/vmi.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';

const owner = { apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachine', name: 'web-1', uid: 'vm-uid', controller: true };

const aVmi = (fields: Pick<VirtualMachineInstance, 'spec' | 'status'> = {}): Stored<VirtualMachineInstance> => ({
  metadata: {
    namespace: 'shop',
    name: 'web-1',
    uid: 'vmi-uid',
    resourceVersion: '7',
    creationTimestamp: '2026-01-02T03:04:05Z',
    labels: { 'drover.dev/revision': 'abc' },
    ownerReferences: [owner],
  },
  ...fields,
});
const withConditions = (...conditions: Condition[]) => vmiView(aVmi({ status: { conditions } }));

test('the view of a VMI that has just been made has nothing but its identity', () => {
  expect(vmiView(aVmi())).toEqual({
    namespace: 'shop',
    name: 'web-1',
    uid: 'vmi-uid',
    resourceVersion: '7',
    vmUid: 'vm-uid',
    createdAt: Date.UTC(2026, 0, 2, 3, 4, 5),
    deleting: false,
    deletingSince: null,
    blockedBy: null,
    graceMs: 30_000,
    phase: '',
    phaseSince: null,
    ready: false,
    readySince: null,
    revision: 'abc',
    pause: null,
    operations: [],
    migration: null,
    migratedAt: null,
    migratable: false,
    whyNotMigratable: null,
    node: null,
    podNode: null,
    podNodeCordoned: false,
    toleratesCordons: false,
    nodeDrained: false,
    whyNoOtherNode: null,
    wishedBy: null,
    launcherOutdated: false,
    nodeLost: false,
    nodeSince: null,
    scheduledAt: null,
    runningSince: null,
    endedAt: null,
    probationMs: null,
    machineType: null,
    specMachineType: null,
    startGeneration: null,
    cpu: { sockets: null, maxSockets: null, current: null },
    memory: { guest: null, maxGuest: null, atBoot: null, current: null },
    placement: '{}',
    disks: [],
    plugged: { interfaces: [], volumes: [] },
    plugging: null,
    pod: null,
    podRevision: null,
    podTerminating: false,
    evictionStrategy: null,
    evacuationNode: null,
    evacuation: null,
    standalone: null,
    whyNotReady: null,
  });
});

test('the view of a running VMI has what its status says', () => {
  const spec = {
    domain: { cpu: { sockets: 2, maxSockets: 8 }, memory: { guest: '2Gi', maxGuest: 8589934592 } },
    tolerations: [{ key: 'gpu', operator: 'Exists' }],
    nodeSelector: { zone: 'b', disk: 'ssd' },
  };
  const status = {
    phase: 'Running',
    nodeName: 'node-1',
    machine: { type: 'pc-q35-rhel9.6.0' },
    currentCPUTopology: { sockets: 1, cores: 1, threads: 1 },
    memory: { guestAtBoot: '1Gi', guestCurrent: '1Gi', guestRequested: '2Gi' },
    conditions: [
      { type: 'Ready', status: 'True', lastTransitionTime: '2026-01-02T04:00:00Z' },
      { type: 'LiveMigratable', status: 'True' },
    ] as Condition[],
  };
  expect(vmiView(aVmi({ spec, status }))).toMatchObject({
    phase: 'Running',
    ready: true,
    readySince: Date.UTC(2026, 0, 2, 4),
    migratable: true,
    node: 'node-1',
    machineType: 'pc-q35-rhel9.6.0',
    cpu: { sockets: 2, maxSockets: 8, current: 1 },
    memory: { guest: '2Gi', maxGuest: '8589934592', atBoot: '1Gi', current: '1Gi' },
    placement: '{"nodeSelector":{"disk":"ssd","zone":"b"},"tolerations":[{"key":"gpu","operator":"Exists"}]}',
    whyNotReady: null,
  });
});

const CORDON = 'node.kubernetes.io/unschedulable';

test.each<[string, object, boolean]>([
  ['of the cordon', { key: CORDON, operator: 'Exists', effect: 'NoSchedule' }, true],
  ['of the cordon, whatever its effect', { key: CORDON, operator: 'Exists' }, true],
  ['of the cordon without a value', { key: CORDON, effect: 'NoSchedule' }, true],
  ['of anything', { operator: 'Exists' }, true],
  ['of the cordon with a value', { key: CORDON, value: 'yes' }, false],
  ['of another effect', { key: CORDON, operator: 'Exists', effect: 'NoExecute' }, false],
  ['of something else', { key: 'gpu', operator: 'Exists' }, false],
  ['that is empty', {}, false],
])('a toleration %s lets the scheduler put a VM on a cordoned node, or not', (_what, toleration, expected) => {
  const other = { key: 'gpu', operator: 'Exists', effect: 'NoExecute' };
  expect(vmiView(aVmi({ spec: { tolerations: [other, toleration] } })).toleratesCordons).toBe(expected);
});

test("the descheduler, or KubeVirt's update, may ask for an evacuation", () => {
  const vmi = aVmi();
  vmi.metadata.labels = { 'kubevirt.io/outdatedLauncherImage': '' };
  expect(vmiView(vmi)).toMatchObject({ wishedBy: 'KubeVirtUpdate', launcherOutdated: true });
  vmi.metadata.annotations = { 'kubevirt.io/eviction-source': 'descheduler' };
  expect(vmiView(vmi).wishedBy).toBe('Descheduler');
});

test('a VMI belongs to no VM if another kind controls it, or nothing does', () => {
  const vmi = aVmi();
  vmi.metadata.ownerReferences = [{ ...owner, kind: 'VirtualMachineInstanceReplicaSet' }];
  expect(vmiView(vmi).vmUid).toBeNull();
  delete vmi.metadata.ownerReferences;
  expect(vmiView(vmi).vmUid).toBeNull();
});

test('a condition without a time, or that is not true, counts for nothing', () => {
  const view = withConditions(
    { type: 'Ready', status: 'False', lastTransitionTime: null as unknown as string },
    { type: 'Paused', status: 'False' },
    { type: 'LiveMigratable', status: 'False' },
  );
  expect(view).toMatchObject({ ready: false, readySince: null, pause: null, migratable: false, whyNotReady: null });
  expect(withConditions({ type: 'Paused', status: 'True' }).pause).toEqual({ reason: '', message: '' });
});

const paused = (reason: string): Condition => ({ type: 'Paused', status: 'True', reason, message: 'VMI was paused' });

test("KubeVirt's words for a pause that nobody has asked for say why the VMI is not ready", () => {
  const ready: Condition = {
    type: 'Ready',
    status: 'False',
    reason: 'ReadinessGatesNotReady',
    message: 'it is paused',
  };
  expect(withConditions(ready, paused('PausedIOError')).whyNotReady).toBe('PausedIOError: VMI was paused');
  expect(withConditions(ready, paused('PausedByUser')).whyNotReady).toBe('it is paused');
});

test('the reason why the VMI is not ready is the cause if KubeVirt names one, and none once it is ready', () => {
  const generic: Condition = {
    type: 'Ready',
    status: 'False',
    reason: 'GuestNotRunning',
    message: 'Guest VM is not reported as running',
  };
  const cause: Condition = {
    type: 'PodScheduled',
    status: 'False',
    reason: 'Unschedulable',
    message: '0/3 nodes are available',
  };
  expect(withConditions(generic).whyNotReady).toBe('Guest VM is not reported as running');
  expect(withConditions(generic, cause).whyNotReady).toBe('0/3 nodes are available');
  expect(withConditions({ ...generic, message: '' }).whyNotReady).toBe('GuestNotRunning');
  expect(withConditions({ ...generic, status: 'True' }, cause).whyNotReady).toBeNull();
  expect(withConditions(generic, { ...cause, status: 'True' }).whyNotReady).toBe('Guest VM is not reported as running');
});

test('the owner of a VMI, and its labels, are kept only if no VM has it', () => {
  const owned = (apiVersion: string) => {
    const ownerReferences = [
      { ...owner, apiVersion, kind: 'VirtualMachineInstanceReplicaSet', name: 'web', uid: 'set' },
    ];
    return vmiView({ ...aVmi(), metadata: { ...aVmi().metadata, labels: { app: 'web' }, ownerReferences } });
  };
  const kind = 'VirtualMachineInstanceReplicaSet';
  expect(owned('drover.dev/v1alpha1')).toMatchObject({
    vmUid: null,
    standalone: { owner: { kind, name: 'web', uid: 'set' }, labels: { app: 'web' } },
  });
  expect(owned('kubevirt.io/v1').standalone?.owner?.kind).toBe(`${kind}.kubevirt.io`);
  expect(owned('drover.dev/v0').standalone?.owner?.kind).toBe(`${kind}.v0.drover.dev`);
  const { ownerReferences: _, ...metadata } = aVmi().metadata;
  expect(vmiView({ ...aVmi(), metadata }).standalone?.owner).toBeNull();
});

test.each([
  [
    'its pod was ready before its guest ran',
    '2026-01-02T04:00:00Z',
    '2026-01-02T04:01:00Z',
    Date.UTC(2026, 0, 2, 4, 1),
  ],
  ['its pod was ready after that', '2026-01-02T04:02:00Z', '2026-01-02T04:01:00Z', Date.UTC(2026, 0, 2, 4, 2)],
  ['nothing says since when its pod is', undefined, '2026-01-02T04:01:00Z', Date.UTC(2026, 0, 2, 4, 1)],
  ['nothing says since when its guest runs', '2026-01-02T04:00:00Z', undefined, Date.UTC(2026, 0, 2, 4)],
])('one that is ready has been so since its guest runs: %s', (_, podReady, running, since) => {
  const status = (ready: 'True' | 'False') => ({
    conditions: [{ type: 'Ready', status: ready, ...(podReady === undefined ? {} : { lastTransitionTime: podReady }) }],
    phaseTransitionTimestamps: running === undefined ? [] : [{ phase: 'Running', phaseTransitionTimestamp: running }],
  });
  expect(vmiView(aVmi({ status: status('True') })).readySince).toBe(since);
  const notReadySince = podReady === undefined ? null : Date.parse(podReady);
  expect(vmiView(aVmi({ status: status('False') })).readySince).toBe(notReadySince);
});

test('the node of a pod that has not come up is known until KubeVirt reports the VMI there', () => {
  const metadata = {
    name: 'web-1',
    namespace: 'shop',
    uid: 'u',
    resourceVersion: '1',
    creationTimestamp: '2026-01-01T00:00:00Z',
  };
  const podNodeOf = (status: object) => vmiView({ metadata, status }).podNode;
  expect(podNodeOf({})).toBeNull();
  expect(podNodeOf({ activePods: { 'uid-of-pod': '' } })).toBeNull();
  expect(podNodeOf({ activePods: { 'uid-of-pod': 'node-1' } })).toBe('node-1');
  expect(podNodeOf({ activePods: { 'uid-of-pod': 'node-1' }, nodeName: 'node-1' })).toBeNull();
});

const on = (activePods: Record<string, string>, mark?: string): Pick<VmiView, 'pod' | 'podRevision'> => {
  const { pod, podRevision } = vmiView({
    ...aVmi(),
    metadata: { ...aVmi().metadata, annotations: mark === undefined ? {} : { 'drover.dev/pod-revision': mark } },
    status: { nodeName: 'a', activePods },
  });
  return { pod, podRevision };
};

describe('the pod of a VMI', () => {
  test('is the one on its node, and comes from another template as long as it is that pod', () => {
    expect(on({ p: 'a' }, 'r@p')).toEqual({ pod: 'p', podRevision: 'r' });
    expect(on({ p: 'b', q: 'a' }, 'r@p')).toEqual({ pod: 'q', podRevision: null });
    expect(on({ p: 'a', q: 'b' }, 'r@p')).toEqual({ pod: 'p', podRevision: 'r' });
    expect(on({ p: 'a' })).toEqual({ pod: 'p', podRevision: null });
  });
  test('is known by its node if nothing tells its UID', () => {
    expect(on({}, 'r@a')).toEqual({ pod: 'a', podRevision: 'r' });
    expect(on({}, 'r@b')).toEqual({ pod: 'a', podRevision: null });
    expect(on({}, 'nonsense')).toEqual({ pod: 'a', podRevision: null });
  });
});

test.each([
  ['revision-start-vm-vm-uid-3', 3],
  ['revision-start-vm-9160e5de-2540-476a-86d9-af0081aee68a-3', null],
  ['another-3', null],
])('a VMI that KubeVirt says to have started from %s was started from generation %s of its VM', (name, expected) => {
  expect(vmiView(aVmi({ status: { virtualMachineRevisionName: name } })).startGeneration).toBe(expected);
});
