import { expect, test } from 'vitest';
import type { Stored } from '../../../api/objects.ts';
import { Pools } from '../../../clients/cli/kinds.ts';
import { table } from '../../../clients/cli/print.ts';
import {
  columnsOfMembers,
  columnsOfOwners,
  headersOf,
  rowOf,
  vmColumns,
  vmiColumns,
} from '../../../clients/owners/columns.ts';
import type { Member } from '../../../clients/owners/members.ts';
import { InstanceSets, setWith, VmSets } from '../replica-sets/sets.ts';
import { poolWith, type UserRequest } from '../rollout/pools.ts';

const vm = (name: string, spec: Member['spec']): Stored<Member> => ({
  metadata: { namespace: 'shop', name, uid: name, resourceVersion: '1', creationTimestamp: '2020-01-01T00:00:00Z' },
  ...(spec === undefined ? {} : { spec }),
  status: { printableStatus: 'Stopped' },
});

function shown(wide: boolean, ...vms: Stored<Member>[]): string[][] {
  const choice = { wide, namespaces: false };
  const lines = table(
    headersOf(vmColumns, choice),
    vms.map((one) => rowOf(vmColumns, choice, one)),
  );
  return lines.map((line) => line.split(/ {3,}/));
}

const TYPED = { runStrategy: 'Halted', template: { spec: { domain: { machine: { type: 'pc-q35-rhel8.6.0' } } } } };

test("`get vms -o wide` shows a VM's run strategy and machine type, and that it has none", () => {
  const [headers, ...rows] = shown(true, vm('db-1', TYPED), vm('db-2', { template: { spec: {} } }));
  const at = ['STRATEGY', 'MACHINE TYPE'].map((header) => headers!.indexOf(header));
  expect(at).not.toContain(-1);
  expect(rows.map((row) => at.map((column) => row[column]))).toEqual([
    ['Halted', 'pc-q35-rhel8.6.0'],
    ['<none>', '<none>'],
  ]);
});

test('a table of VMs without -o wide has neither', () => {
  expect(shown(false, vm('db-1', TYPED))[0]).toEqual(['NAME', 'STATUS', 'READY', 'OWNER', 'REVISION', 'AGE', 'WHY']);
});

test('a VM names the pool that owns it, or the set as commands accept it', () => {
  const ownedBy = (kind: string, name: string): Stored<Member> => {
    const reference = { apiVersion: 'drover.dev/v1alpha1', kind, name, uid: name, controller: true };
    const { metadata, ...rest } = vm('vm', TYPED);
    return { ...rest, metadata: { ...metadata, ownerReferences: [reference] } };
  };
  const owners = shown(
    false,
    vm('db-1', TYPED),
    ownedBy('VirtualMachinePool', 'web'),
    ownedBy('VirtualMachineReplicaSet', 'runners'),
    ownedBy('Deployment', 'other'),
  ).map((row) => row[3]);
  expect(owners).toEqual(['OWNER', '<none>', 'web', 'vmrs/runners', 'other']);
});

const labelled = (metadata: object, state = 'Stopped'): Stored<Member> => {
  const one = vm('vm', TYPED);
  const conditions = [{ type: 'Ready', status: 'False' as const, message: 'VMI does not exist' }];
  return { ...one, metadata: { ...one.metadata, ...metadata }, status: { printableStatus: state, conditions } };
};

test('a VM that was detached names its former pool, and a stopped standby VM is not shown as broken', () => {
  const detached = { annotations: { 'drover.dev/detached': '{"pool":"web","revision":null}' } };
  const standby = { labels: { 'drover.dev/role': 'Standby' } };
  const rows = shown(
    false,
    labelled(detached),
    labelled(standby),
    labelled(standby, 'ErrorUnschedulable'),
    labelled({}),
  );
  expect(rows.slice(1).map((row) => [row[3], row.at(-1)])).toEqual([
    ['<none>, detached from web', 'VMI does not exist'],
    ['<none>', 'standby VM'],
    ['<none>', 'VMI does not exist'],
    ['<none>', 'VMI does not exist'],
  ]);
});

test('a VM whose VMI could not be made says why, and not only that it does not exist', () => {
  const why = 'Failure while starting VMI: a webhook denied the request';
  const one = labelled({});
  const failure = { type: 'Failure', status: 'True' as const, message: why };
  const conditions = [...one.status!.conditions!, failure];
  expect(shown(false, { ...one, status: { ...one.status, conditions } })[1]?.at(-1)).toBe(why);
});

test('a VM that no node takes says so first, and not that its guest does not run', () => {
  const scheduled = { type: 'PodScheduled', status: 'False' as const, message: 'no node fits' };
  const one = labelled({});
  const conditions = [...one.status!.conditions!, scheduled];
  expect(shown(false, { ...one, status: { ...one.status, conditions } })[1]?.at(-1)).toBe('no node fits');
});

const condition = (type: string) => ({ type, status: 'True' as const, reason: type, message: 'web-1' });

const problem = (...types: string[]): unknown => {
  const columns = columnsOfOwners(Pools);
  const choice = { wide: true, namespaces: false };
  const row = rowOf(columns, choice, poolWith({ status: { conditions: types.map(condition) } }));
  return row[headersOf(columns, choice).indexOf('PROBLEM')];
};

test('the problem of a pool is its worst: what it cannot do, what has failed, and what is being healed', () => {
  expect(problem('Available', 'Paused')).toBe('<none>');
  expect(problem('Healing', 'Degraded', 'ReplicaFailure')).toMatchObject({ text: 'ReplicaFailure: web-1' });
  expect(problem('Healing', 'Degraded')).toMatchObject({ text: 'Degraded: web-1' });
  expect(problem('Healing')).toMatchObject({ text: 'Healing: web-1' });
});

const cell = (request: UserRequest): unknown => {
  const columns = columnsOfOwners(Pools);
  const choice = { wide: false, namespaces: false };
  return rowOf(columns, choice, poolWith(request))[headersOf(columns, choice).indexOf('ROLLOUT')];
};

test('a paused rollout is shown as such, even if it is complete', () => {
  const complete: UserRequest = { progressing: ['Complete', 'False'] };
  expect(cell(complete)).toEqual({ text: 'Complete', style: 'green' });
  expect(cell({ ...complete, spec: { paused: true } })).toEqual({ text: 'Complete (paused)', style: 'yellow' });
  expect(cell({ progressing: ['Paused', 'False'], spec: { paused: true } })).toMatchObject({ text: 'Paused' });
});

test('`get vmis -o wide` shows where a VMI runs, and as which machine type', () => {
  const choice = { wide: true, namespaces: false };
  const reference = { kind: 'VirtualMachineInstanceReplicaSet', name: 'front', uid: 'front', controller: true };
  const ownedBy = (group: string): Stored<Member> => {
    const { metadata } = vm('front-7hk2p', undefined);
    const ownerReferences = [{ ...reference, apiVersion: `${group}/v1alpha1` }];
    const status = { phase: 'Running', nodeName: 'node-1', machine: { type: 'pc-q35-rhel9.8.0' } };
    return { metadata: { ...metadata, ownerReferences }, status };
  };
  const cells = (one: Stored<Member>): [string, unknown][] => {
    const row = rowOf(vmiColumns, choice, one);
    return headersOf(vmiColumns, choice).map((header, at) => [header, row[at]]);
  };
  expect(Object.fromEntries(cells(ownedBy('drover.dev')))).toMatchObject({
    STATUS: { text: 'Running' },
    OWNER: 'dvmirs/front',
    NODE: 'node-1',
    'MACHINE TYPE': 'pc-q35-rhel9.8.0',
  });
  // The set of KubeVirt's own kind is none that these commands know.
  expect(Object.fromEntries(cells(ownedBy('kubevirt.io')))).toMatchObject({ OWNER: 'front' });
});

test('the VMs of a pool show their revision, and those of a set, which have none, do not', () => {
  const [ofPool, ofSet, ofInstances] = [Pools, VmSets, InstanceSets].map((kind) =>
    headersOf(columnsOfMembers(kind), { wide: false, namespaces: false }),
  );
  expect(ofPool).toEqual(['NAME', 'STATUS', 'READY', 'REVISION', 'AGE', 'WHY']);
  expect(ofSet).toEqual(['NAME', 'STATUS', 'READY', 'AGE', 'WHY']);
  expect(ofInstances).toEqual(ofSet);
});

test('a set is listed with what its CRD shows, and with -o wide also with its selector and problem', () => {
  const columns = columnsOfOwners(VmSets);
  const failure = {
    type: 'ReplicaFailure',
    status: 'True' as const,
    reason: 'FailedCreate',
    message: 'exceeded quota',
  };
  const status = {
    replicas: 2,
    readyReplicas: 2,
    availableReplicas: 1,
    labelSelector: 'app=web',
    conditions: [failure],
  };
  const [wide, narrow] = [true, false].map((wide) => ({ wide, namespaces: false }));
  expect(headersOf(columns, narrow!)).toEqual(['NAME', 'DESIRED', 'CURRENT', 'READY', 'AVAILABLE', 'AGE']);
  const headers = headersOf(columns, wide!);
  const cells = table(headers, [rowOf(columns, wide!, setWith({}, status))])[1]!.split(/ {3,}/);
  expect(cells).toEqual(['web', '3', '2', '2', '1', expect.any(String), 'app=web', 'FailedCreate: exceeded quota']);
});

test('`get pools -o wide` shows the standby VMs that are ready, out of those that are wanted', () => {
  const columns = columnsOfOwners(Pools);
  const choice = { wide: true, namespaces: false };
  const at = headersOf(columns, choice).indexOf('STANDBY');
  const shownFor = (request: UserRequest): unknown => rowOf(columns, choice, poolWith(request))[at];
  expect(shownFor({})).toBe('<none>');
  expect(shownFor({ spec: { standby: { replicas: 3 } } })).toBe('0/3');
  const status = { standbyReplicas: 2, readyStandbyReplicas: 1 };
  expect(shownFor({ spec: { standby: { replicas: 3 } }, status })).toBe('1/3');
  expect(shownFor({ status })).toBe('1/0');
});
