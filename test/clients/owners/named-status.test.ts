import { expect, test } from 'vitest';
import type { Stored } from '../../../api/objects.ts';
import type { Resource } from '../../../api/resources.ts';
import { Pools, type OwnerKind } from '../../../clients/cli/kinds.ts';
import type { Owner } from '../../../clients/cli/owner.ts';
import { ownerData, readStates, type OwnerState } from '../../../clients/owners/data.ts';
import { statusLines } from '../../../clients/owners/status-view.ts';
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
const known = async (kind: OwnerKind, owner: Stored<Owner>, ...vms: Stored[]): Promise<OwnerState> => {
  const list = ({ plural }: Resource): Promise<{ items: Stored[] }> =>
    Promise.resolve({ items: plural === 'virtualmachines' ? vms : [] });
  const session = {
    cluster: 'default',
    kube: () => Promise.resolve({ list, get: () => Promise.resolve(owner) }),
    knowsTemporal: () => Promise.resolve(false),
  } as unknown as Session;
  const { namespace, name } = owner.metadata;
  const [state] = await readStates(session, { kind, namespace, names: [name] });
  return state!;
};

const linesOf = (state: OwnerState): string[] => statusLines(state, 0, 0);

test('the status of a named set says why its VMs are not ready', async () => {
  const done = { type: 'Progressing', status: 'False' as const, reason: 'Complete', message: '3 of 3 VMs exist' };
  const set = setWith({}, { readyReplicas: 1, availableReplicas: 1, conditions: [done] });
  const vms = [vm('web-b2c3d', 'set-uid', true), vm('web-c3d4f', 'set-uid', false), vm('db-1', 'other', true)];
  const state = await known(VmSets, set, ...vms);
  expect(linesOf(state)).toEqual([
    expect.stringMatching(/^default\/web .* 1\/3 ready, 2 total, 1 available$/) as string,
    '  VMs: Running 1, Starting 1',
    '    web-c3d4f: Starting: guest VM is not reported as running',
    '  in progress: not known, no address of Temporal is given (--address)',
  ]);
  expect(linesOf({ ...state, warnings: undefined }).join()).not.toContain('web-c3d4f');
});

const head = async (request: UserRequest): Promise<string> => linesOf(await known(Pools, poolWith(request)))[0]!;

test('the status of a pool has standby VMs while it has, or wants, any', async () => {
  const status = { standbyReplicas: 2, readyStandbyReplicas: 1 };
  expect(await head({})).not.toContain('standby');
  expect(await head({ spec: { standby: { replicas: 3, state: 'Paused' } }, status })).toMatch(/, 1\/3 standby$/);
  expect(await head({ status })).toMatch(/, 1\/0 standby$/);
});

test('a set is, for programs, its numbers, states, conditions, and why VMs are not ready', async () => {
  const set = setWith({}, { readyReplicas: 1, availableReplicas: 1, conditions: [] });
  const vms = [vm('web-b2c3d', 'set-uid', true), vm('web-c3d4f', 'set-uid', false)];
  expect(ownerData(await known(VmSets, set, ...vms))).toMatchObject({
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
  });
});
