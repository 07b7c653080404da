import { once } from 'node:events';
import { expect, test, vi } from 'vitest';
import { CHANGES_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import type { KubeObject, Stored } from '../../../api/objects.ts';
import type { VmPatch } from '../../../api/operations/patch.ts';
import { VirtualMachineInstances, VirtualMachines } from '../../../api/resources.ts';
import { changesOf } from '../../../decisions/changes/change-record.ts';
import { aTemplate } from '../../model/pools.ts';
import { callsTo } from '../forged/calls.ts';
import { POWER } from '../forged/table.ts';
import { keyOf, SHOP, World } from '../forged/world.ts';

const LABEL = { metadata: { labels: { tier: 'gold' } } };
const HOSTNAME = { spec: { template: { spec: { hostname: 'db' } } } };

interface Given {
  change?: object;
  patch?: Omit<VmPatch, 'merge'>;
  /** Called once the worker's cache is filled; it hears of no VMI from then on. */
  meanwhile?: (world: World, vms: Stored[]) => void;
}

const halted = (world: World, name: string): Stored =>
  world.server.create(VirtualMachines, {
    metadata: { namespace: SHOP, name },
    spec: { ...aTemplate().spec, runStrategy: 'Halted' },
    status: { printableStatus: 'Stopped' },
  });
const running = (world: World, name: string): Stored => world.other(SHOP, name);

/** The worker hears no more of VMIs than what it has listed. */
function hearsOfNoVmi({ client }: World): void {
  const watch = client.watch.bind(client);
  vi.spyOn(client, 'watch').mockImplementation(async function* (resource, options) {
    if (resource === VirtualMachineInstances) await once(options.signal, 'abort');
    else yield* watch(resource, options);
  });
}

/** Has a worker change two VMs, and returns its calls for them, and what is noted on the second. */
async function patched(make: typeof halted, { change = LABEL, patch, meanwhile }: Given = {}) {
  const world = new World();
  const vms = ['db-1', 'db-2'].map((name) => make(world, name));
  const merge = JSON.stringify(change);
  const operation = world.operation(['db-1', 'db-2'], { action: 'Patch', atOnce: '100%', patch: { ...patch, merge } });
  if (meanwhile !== undefined) hearsOfNoVmi(world);
  await world.start();
  meanwhile?.(world, vms);
  const calls = callsTo(world.client);
  await world.written('changePower', [{ ...POWER, action: 'Patch', operation: keyOf(operation) }]);
  expect(world.failure).toBeUndefined();
  const record = changesOf(world.server.get(VirtualMachines, vms[1]!.metadata).metadata.annotations)[0];
  // Dry runs are for all VMs of a shape, but for those that begin together.
  return { calls: calls.filter((call) => /^(?!dry run).*(db-|events)/.test(call)), record };
}

const VMS = ['db-1', 'db-2'];

test.each([
  ['is stopped', halted, { change: HOSTNAME }, 'Start'],
  ['runs', running, {}, 'Nothing'],
] as const)('a VM that %s costs two calls if its change needs no restart', async (_what, make, given, need) => {
  const { calls, record } = await patched(make, given);
  expect(record).toMatchObject({ need });
  expect(calls.toSorted()).toEqual([
    ...VMS.map((name) => `get virtualmachines ${name}`),
    ...VMS.map((name) => `patch virtualmachines ${name}`),
  ]);
});

test('a VM whose change takes a restart by its owner costs a call more: the Event that says so', async () => {
  const { calls, record } = await patched(running, { change: HOSTNAME });
  expect(record).toMatchObject({ need: 'Restart' });
  expect(calls.filter((call) => call === 'create events')).toHaveLength(2);
  expect(calls.filter((call) => call.includes('virtualmachineinstances'))).toEqual([]);
});

test('a restart costs four calls and an Event: the VM that notes it was not changed since it was read', async () => {
  const world = new World();
  running(world, 'db-1');
  const operation = world.operation(['db-1']);
  await world.start();
  const calls = callsTo(world.client);
  await world.written('changePower', [{ ...POWER, operation: keyOf(operation) }]);
  const ofVm = calls.filter((call) => !call.includes('virtualmachineoperations'));
  expect(ofVm.slice(ofVm.indexOf('get virtualmachines db-1'), ofVm.indexOf('create events') + 1)).toEqual([
    'get virtualmachines db-1',
    'get virtualmachineinstances db-1',
    'patch virtualmachines db-1',
    'delete virtualmachineinstances db-1',
    'create events',
  ]);
});

/** As KubeVirt starts a VM. */
function start({ server }: World, { metadata: { namespace, name, uid } }: Stored): void {
  const owner = { apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachine', name, uid, controller: true };
  server.create(VirtualMachineInstances, {
    metadata: { namespace: namespace!, name, ownerReferences: [owner] },
    spec: { domain: { devices: {} } },
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
  });
  const status = { created: true, ready: true, printableStatus: 'Running' };
  server.write(VirtualMachines, { namespace, name }, (vm) => ({ ...vm, status }), 'status');
}

test('a VM that was started before the worker has heard of its VMI is changed as one that runs', async () => {
  const { calls, record } = await patched(halted, {
    change: HOSTNAME,
    meanwhile: (world, [, second]) => start(world, second!),
  });
  expect(record).toMatchObject({ need: 'Restart' });
  expect(calls.filter((call) => call.startsWith('get virtualmachineinstances'))).toEqual([
    'get virtualmachineinstances db-2',
  ]);
});

test('a VM is not changed if it is to be restarted for that, and was paused before the worker has heard of it', async () => {
  const conditions = [
    { type: 'Ready', status: 'True' },
    { type: 'Paused', status: 'True', reason: 'PausedByUser' },
  ];
  const { record } = await patched(running, {
    change: HOSTNAME,
    patch: { restart: true },
    meanwhile: ({ server }, [, { metadata } = { metadata: { name: '' } }]) =>
      void server.write(VirtualMachineInstances, metadata, (vmi: KubeObject) => ({
        ...vmi,
        status: { ...(vmi['status'] as object), conditions },
      })),
  });
  expect(record).toBeUndefined();
});

test('no VM is restarted for what a client has noted on it, if the operation restarts none', async () => {
  const world = new World();
  const { metadata } = running(world, 'db-1');
  const operation = world.operation(['db-1'], { action: 'Patch', patch: { merge: JSON.stringify(HOSTNAME) } });
  const { uid: vmi } = world.server.get(VirtualMachineInstances, metadata).metadata;
  const { uid: id, name } = operation.metadata;
  const record = { id, operation: name, need: 'Restart', vmi, at: new Date(0).toISOString(), by: 'eve', edits: [] };
  const annotations = { [CHANGES_ANNOTATION]: JSON.stringify({ changes: [record] }) };
  world.server.write(VirtualMachines, metadata, (vm) => ({ ...vm, metadata: { ...vm.metadata, annotations } }));
  await world.start();
  expect(await world.written('changePower', [{ ...POWER, action: 'Patch', operation: keyOf(operation) }])).toEqual([]);
});
