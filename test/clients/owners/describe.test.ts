import { expect, test } from 'vitest';
import type { Stored } from '../../../api/objects.ts';
import type { Resource } from '../../../api/resources.ts';
import { Pools } from '../../../clients/cli/kinds.ts';
import { describedData, describeOwner } from '../../../clients/owners/describe.ts';
import type { Member } from '../../../clients/owners/members.ts';
import type { Session } from '../../../clients/session/session.ts';
import { setWith, VmSets } from '../replica-sets/sets.ts';
import { poolWith, type UserRequest } from '../rollout/pools.ts';

const stored = { resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z', namespace: 'default' };
const vm = (name: string, uid: string, ready: boolean): Stored<Member> => ({
  metadata: {
    ...stored,
    name,
    uid: name,
    ownerReferences: [
      { apiVersion: 'drover.dev/v1alpha1', kind: 'VirtualMachineReplicaSet', name: 'web', uid, controller: true },
    ],
  },
  status: {
    ready,
    printableStatus: ready ? 'Running' : 'Starting',
    conditions: ready ? [] : [{ type: 'Ready', status: 'False', message: 'guest VM is not reported as running' }],
  },
});

/** A session on a cluster with these VMs, which has no Temporal. */
const sessionWith = (...vms: Stored<Member>[]): Session => {
  const list = ({ plural }: Resource): Promise<{ items: Stored[] }> =>
    Promise.resolve({ items: plural === 'virtualmachines' ? vms : [] });
  return {
    cluster: 'default',
    kube: () => Promise.resolve({ list }),
    knowsTemporal: () => Promise.resolve(false),
  } as unknown as Session;
};

test('a replica set is described by its spec, conditions and VMs, without what only pools have', async () => {
  const done = { type: 'Progressing', status: 'False' as const, reason: 'Complete', message: '3 of 3 VMs exist' };
  const set = setWith({ minReadySeconds: 5 }, { readyReplicas: 1, availableReplicas: 1, conditions: [done] });
  const session = sessionWith(
    vm('web-b2c3d', 'set-uid', true),
    vm('web-c3d4f', 'set-uid', false),
    vm('db-1', 'other', true),
  );
  const lines = await describeOwner(session, VmSets, set);
  expect(lines).toEqual(
    expect.arrayContaining([
      'Name:         web',
      'VMs:          3 desired, 3 total, 1 ready, 1 available',
      'Run strategy: Always',
      '  minReadySeconds: 5',
      'States:       Running 1, Starting 1',
      '  web-c3d4f   Starting   guest VM is not reported as running',
      'Workflow:     replica-set/default/default/web',
      'In progress:  not known: no address of Temporal is given (--address)',
      'Events:       <none>',
    ]),
  );
  expect(lines.join('\n')).toMatch(/Progressing +False +Complete/);
  expect(lines.join('\n')).not.toMatch(/Rollout|Revision|updated/);
});

async function standbyOf(request: UserRequest): Promise<string | undefined> {
  const lines = await describeOwner(sessionWith(), Pools, poolWith(request));
  return lines.find((line) => line.startsWith('Standby:'));
}

test('a pool is described with its standby VMs while it has, or wants, any', async () => {
  const status = { standbyReplicas: 2, readyStandbyReplicas: 1 };
  expect(await standbyOf({})).toBeUndefined();
  expect(await standbyOf({ spec: { standby: { replicas: 3, state: 'Paused' } }, status })).toMatch(
    /3 desired \(Paused\), 2 total, 1 ready$/,
  );
  expect(await standbyOf({ status })).toMatch(/0 desired \(\w+\), 2 total, 1 ready$/);
});

test('a set is, for programs, its numbers, states, conditions, and why VMs are not ready', async () => {
  const set = setWith({}, { readyReplicas: 1, availableReplicas: 1, conditions: [] });
  const session = sessionWith(vm('web-b2c3d', 'set-uid', true), vm('web-c3d4f', 'set-uid', false));
  expect(await describedData(session, VmSets, set)).toMatchObject({
    kind: 'VirtualMachineReplicaSet',
    name: 'web',
    desired: 3,
    current: 2,
    ready: 1,
    available: 1,
    states: { Running: 1, Starting: 1 },
    workflow: 'replica-set/default/default/web',
    inProgress: null,
    unknown: 'no address of Temporal is given (--address)',
    notReady: [{ name: 'web-c3d4f', state: 'Starting', message: 'guest VM is not reported as running' }],
    events: [],
  });
});
