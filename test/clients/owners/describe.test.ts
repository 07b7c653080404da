import { expect, test } from 'vitest';
import type { Stored } from '../../../api/objects.ts';
import type { Resource } from '../../../api/resources.ts';
import { Pools, type OwnerKind } from '../../../clients/cli/kinds.ts';
import type { Owner } from '../../../clients/cli/owner.ts';
import { readStates } from '../../../clients/owners/data.ts';
import { describedData, describeOwner, readBeside } from '../../../clients/owners/describe.ts';
import type { Session } from '../../../clients/session/session.ts';
import type { VirtualMachine } from '../../../decisions/from-object/vm.ts';
import { setWith, VmSets } from '../replica-sets/sets.ts';
import { poolWith, type UserRequest } from '../rollout/pools.ts';

const stored = { resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z', namespace: 'default' };
const vm = (name: string, uid: string, ready: boolean): Stored<VirtualMachine> => ({
  metadata: {
    ...stored,
    name,
    uid: name,
    ownerReferences: [
      { apiVersion: 'drover.dev/v1alpha1', kind: 'VirtualMachineReplicaSet', name: 'web', uid, controller: true },
    ],
  },
  spec: { runStrategy: 'Always' },
  status: {
    ready,
    printableStatus: ready ? 'Running' : 'Starting',
    conditions: ready ? [] : [{ type: 'Ready', status: 'False', message: 'guest VM is not reported as running' }],
  },
});

/** All that is known about an object in a cluster with these VMs, which has no Temporal. */
const known = async (kind: OwnerKind, owner: Stored<Owner>, ...vms: Stored[]) => {
  const list = ({ plural }: Resource): Promise<{ items: Stored[] }> =>
    Promise.resolve({ items: plural === 'virtualmachines' ? vms : [] });
  const session = {
    cluster: 'default',
    kube: () => Promise.resolve({ list, get: () => Promise.resolve(owner) }),
    knowsTemporal: () => Promise.resolve(false),
  } as unknown as Session;
  const { namespace, name } = owner.metadata;
  const [state] = await readStates(session, { kind, namespace, names: [name] });
  return readBeside(session, state!);
};

test('a replica set is described by its spec, conditions and VMs, without what only pools have', async () => {
  const done = { type: 'Progressing', status: 'False' as const, reason: 'Complete', message: '3 of 3 VMs exist' };
  const set = setWith({ minReadySeconds: 5 }, { readyReplicas: 1, availableReplicas: 1, conditions: [done] });
  const vms = [vm('web-b2c3d', 'set-uid', true), vm('web-c3d4f', 'set-uid', false), vm('db-1', 'other', true)];
  const lines = describeOwner(await known(VmSets, set, ...vms));
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
  const lines = describeOwner(await known(Pools, poolWith(request)));
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
  const vms = [vm('web-b2c3d', 'set-uid', true), vm('web-c3d4f', 'set-uid', false)];
  expect(describedData(await known(VmSets, set, ...vms))).toMatchObject({
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
