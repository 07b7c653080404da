import { expect, test } from 'vitest';
import type { Stored } from '../../../api/objects.ts';
import { readVm } from '../../../clients/dashboard/details/vm-details.ts';
import type { Pool } from '../../../decisions/views/pool.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { KubeError } from '../../../kubernetes/errors.ts';
import { ServerClock } from '../../../kubernetes/server-clock.ts';
import { budgetOf } from '../../decisions/disruption-budget/any-vms/fixtures.ts';
import { aPoolWith } from './objects.ts';

const clock = new ServerClock();
const gone = { get: () => Promise.reject(new KubeError(404, 'NotFound', 'gone')), clock } as unknown as KubeClient;

test('a VM that healing has deleted, and is to make again, says so instead of being unknown', async () => {
  const startedAt = '2026-01-01T00:00:00Z';
  const cycle = {
    vm: 'web-1',
    uid: 'x',
    attempt: 1,
    phase: 'Waiting',
    message: 'its start has failed',
    startedAt,
  } as const;
  const pool = aPoolWith({ spec: { autohealing: {} }, status: { healing: { cycles: [cycle], finished: [] } } });
  const known = { card: 'pool/default/web', pool, isNodeLost: () => false, budgets: [] };
  expect(await readVm(gone, 'default', 'web-1', known)).toMatchObject({
    status: 'Deleted',
    isReady: false,
    explanation: [expect.stringContaining('its start has failed')],
  });
  await expect(readVm(gone, 'default', 'web-2', known)).rejects.toThrow('there is no VM default/web-2');
});

const NO_VMI = { type: 'Ready', status: 'False', reason: 'VMINotExists', message: 'VMI does not exist' };

/** A cluster that has these objects, and no Events. */
const clusterOf = (...objects: Stored[]): KubeClient => {
  const get = ({ kind }: { kind: string }): Promise<unknown> => {
    const found = objects.find((one) => one.kind === kind);
    return found === undefined ? Promise.reject(new KubeError(404, 'NotFound', 'gone')) : Promise.resolve(found);
  };
  return { get, list: () => Promise.resolve({ items: [] }), clock } as unknown as KubeClient;
};

const stored = (kind: string, more: object): Stored => ({
  apiVersion: 'v1',
  kind,
  metadata: {
    name: 'web-1',
    namespace: 'shop',
    uid: 'x',
    resourceVersion: '1',
    creationTimestamp: '2026-01-01T00:00:00Z',
  },
  ...more,
});

/** A VM as KubeVirt leaves it while it has no VMI. */
const withoutVmi = (runStrategy: string, printableStatus: string): Stored =>
  stored('VirtualMachine', {
    spec: { runStrategy, template: { spec: { volumes: [{ name: 'root', dataVolume: { name: 'root-1' } }] } } },
    status: { printableStatus, runStrategy, conditions: [NO_VMI] },
  });

const readFrom = (...objects: Stored[]) => readIn(undefined, ...objects);

const readIn = (pool: Stored<Pool> | undefined, ...objects: Stored[]) =>
  readVm(clusterOf(...objects), 'shop', 'web-1', {
    card: 'pool/shop/web',
    pool,
    isNodeLost: (node) => node === 'lost',
    budgets: [],
  });

const ready = stored('VirtualMachine', {
  spec: { runStrategy: 'Always', template: { spec: {} } },
  status: { created: true, ready: true, printableStatus: 'Running' },
});

test('a place in the disruption budget is told with what it is for, and not with the id of a workflow', async () => {
  const at = new Date(Date.now() - 34_000).toISOString();
  const claim = { vm: 'web-1', by: 'operation/default/shop/restart-web', at };
  const { facts, explanation } = await readIn(aPoolWith({ status: { disruptedVMs: [claim] } }), ready);
  expect(facts.find(({ label }) => label === 'Budget of its pool')?.value).toMatch(
    /^counts against it for 3\ds \(operation shop\/restart-web\)$/,
  );
  expect(explanation).toEqual([]);
});

test('a VM names the disruption budgets that it is under, with the state of each', async () => {
  const budgets = [
    budgetOf({ selector: { matchLabels: { app: 'web' } } }, { name: 'web', namespace: 'shop' }),
    budgetOf({ selector: { matchLabels: { app: 'db' } } }, { name: 'db', namespace: 'shop', uid: 'db' }),
    budgetOf({ selector: {} }, { name: 'all', namespace: undefined as never, uid: 'all' }),
  ];
  const vm = { ...ready, metadata: { ...ready.metadata, labels: { app: 'web' } } };
  const known = { card: 'pool/shop/web', pool: undefined, isNodeLost: () => false, budgets };
  const { facts } = await readVm(clusterOf(vm), 'shop', 'web-1', known);
  expect(facts.find(({ label }) => label === 'Disruption budgets')?.value).toBe(
    'cluster-wide all: Pending, web: Pending',
  );
  expect((await readFrom(vm)).facts.map(({ label }) => label)).not.toContain('Disruption budgets');
});

test('a VM that is ready is not explained by what is over, as one that is down is', async () => {
  const finished = { vm: 'web-1', uid: 'x', attempts: 1, end: 'Healed', message: '2 starts have failed' } as const;
  const at = '2026-01-01T00:00:00Z';
  const pool = aPoolWith({
    spec: { autohealing: {} },
    status: { healing: { cycles: [], finished: [{ ...finished, at }] } },
    rollout: { failures: [{ vm: 'web-1', message: 'no node fits', at }] },
  });
  expect((await readIn(pool, ready)).explanation).toEqual([]);
  expect((await readIn(pool, withoutVmi('Always', 'Starting'))).explanation).toEqual([
    expect.stringContaining('2 starts have failed'),
    'failed in the rollout: no node fits',
  ]);
});

test.each([
  ['Halted', 'it is stopped (run strategy Halted): `drover vm start web-1 -n shop` starts it'],
  [
    'RerunOnFailure',
    'it is stopped: a user has stopped it, its guest has shut down or its pod was evicted, after which KubeVirt starts nothing under the run strategy RerunOnFailure: `drover vm start web-1 -n shop` starts it',
  ],
])('a VM that is stopped says so, and how it starts, and not that it has no VMI: %s', async (runStrategy, why) => {
  const found = await readFrom(withoutVmi(runStrategy, 'Stopped'));
  expect(found).toMatchObject({ status: 'Stopped', isReady: false, explanation: [why] });
});

test('a VM that waits for its disks names each, and how far CDI is with it', async () => {
  const claim = stored('PersistentVolumeClaim', { status: { phase: 'Bound' } });
  const filling = stored('DataVolume', { status: { phase: 'ImportInProgress', progress: '12.5%' } });
  expect(await readFrom(withoutVmi('Always', 'Provisioning'), claim, filling)).toMatchObject({
    explanation: [
      'its disk root-1 is not filled: its DataVolume is ImportInProgress 12.5%',
      'its disks are being made or filled',
    ],
    disks: [{ name: 'root', claim: 'root-1', phase: 'ImportInProgress 12.5%' }],
  });
  const conditions = [{ type: 'Running', status: 'False', reason: 'Error', message: 'Unable to process data' }];
  const failed = stored('DataVolume', { status: { phase: 'Failed', progress: 'N/A', conditions } });
  expect((await readFrom(withoutVmi('Always', 'DataVolumeError'), claim, failed)).explanation[0]).toBe(
    'its disk root-1 is not filled: its DataVolume is Failed: Unable to process data',
  );
  const filled = stored('DataVolume', { status: { phase: 'Succeeded' } });
  expect(await readFrom(withoutVmi('Always', 'Starting'), claim, filled)).toMatchObject({
    explanation: [],
    disks: [{ phase: 'Bound' }],
  });
});

test('the history of a VM begins with its creation, which needs no Event', async () => {
  expect((await readFrom(withoutVmi('Halted', 'Stopped'))).history).toEqual([
    {
      at: '2026-01-01T00:00:00Z',
      by: 'Kubernetes',
      tone: 'normal',
      what: 'Created',
      sentence: 'the VM was created',
      count: 1,
    },
  ]);
});

test('a VM whose guest runs and is not ready says so before the words of its pod', async () => {
  const unready = { type: 'Ready', status: 'False', message: 'containers with unready status: [compute]' };
  const vm = stored('VirtualMachine', {
    spec: { runStrategy: 'Always', template: { spec: {} } },
    status: { created: true, printableStatus: 'Running', conditions: [unready] },
  });
  const vmi = stored('VirtualMachineInstance', { spec: {}, status: { phase: 'Running', conditions: [unready] } });
  expect((await readFrom(vm, vmi)).explanation).toEqual([
    'its guest runs, and is not ready',
    'containers with unready status: [compute]',
  ]);
  const onLost = { ...vmi, status: { phase: 'Running', nodeName: 'lost', conditions: [unready] } };
  expect((await readFrom(vm, onLost)).explanation[0]).toBe('its node lost does not answer');
});
