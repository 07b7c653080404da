import { expect, test } from 'vitest';
import { DO_NOT_DISRUPT_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import type { KubeObject, Stored } from '../../../api/objects.ts';
import {
  CoreEvents,
  KubeVirts,
  Nodes,
  Pods,
  VirtualMachineDisruptionBudgets,
  VirtualMachineInstances,
  VirtualMachineOperations,
  VirtualMachinePools,
  VirtualMachines,
  type Resource,
} from '../../../api/resources.ts';
import { cancelDrain } from '../../../clients/drain/cancel.ts';
import { formatInterrupted, startDrain } from '../../../clients/drain/start.ts';
import type { WriteOptions } from '../../../kubernetes/client.ts';
import { KubeError } from '../../../kubernetes/errors.ts';
import { StillClient } from '../../activities/forged/still-client.ts';
import { budgetManifest } from '../../api/budgets/budgets.ts';
import { aTemplate } from '../../model/pools.ts';
import { ApiServer } from '../../model/world/api-server.ts';

const NODE = 'worker-7';

let made = 0;
const named = (object: KubeObject): KubeObject => {
  const { generateName = '' } = object.metadata as { generateName?: string };
  return { ...object, metadata: { ...object.metadata, name: object.metadata.name ?? `${generateName}${++made}` } };
};

/** Answers each question for a right with yes. */
class Client extends StillClient {
  override async create(resource: Resource, object: KubeObject, options: WriteOptions = {}): Promise<Stored> {
    if ([CoreEvents.plural, VirtualMachineOperations.plural].includes(resource.plural))
      return super.create(resource, named(object), options);
    return { ...object, status: { allowed: true, userInfo: { username: 'ann' } } } as unknown as Stored;
  }
}

/** A node with VMs that KubeVirt can't migrate: two of a pool without `drain`, and one without an owner. */
function aNode({ optedOut = [] as string[] } = {}) {
  const server = new ApiServer(() => 0);
  server.create(Nodes, { metadata: { name: NODE } });
  server.create(KubeVirts, { metadata: { namespace: 'kubevirt', name: 'kubevirt' } });
  const spec = { replicas: 2, maxUnavailable: 1, template: aTemplate() };
  const pool = server.create(VirtualMachinePools, { metadata: { namespace: 'shop', name: 'web' }, spec });
  const addVm = (name: string, ownerReferences: object[]): void => {
    const annotations = optedOut.includes(name) ? { [DO_NOT_DISRUPT_ANNOTATION]: 'true' } : {};
    const key = { namespace: 'shop', name };
    const vm = server.create(VirtualMachines, {
      metadata: { ...key, annotations, ownerReferences: ownerReferences as never },
      spec: { runStrategy: 'Always', template: { spec: { domain: {} } } },
    });
    const owner = {
      apiVersion: 'kubevirt.io/v1',
      kind: 'VirtualMachine',
      name,
      uid: vm.metadata.uid,
      controller: true,
    };
    server.create(VirtualMachineInstances, {
      metadata: { ...key, labels: { 'kubevirt.io/nodeName': NODE }, ownerReferences: [owner] },
      status: { phase: 'Running', nodeName: NODE },
    });
    server.create(Pods, {
      metadata: {
        namespace: 'shop',
        name: `pod-${name}`,
        labels: { 'kubevirt.io': 'virt-launcher' },
        annotations: { 'kubevirt.io/domain': name },
      },
      spec: { nodeName: NODE },
      status: { phase: 'Running' },
    });
  };
  const { uid } = pool.metadata;
  const controller = {
    apiVersion: 'drover.dev/v1alpha1',
    kind: 'VirtualMachinePool',
    name: 'web',
    uid,
    controller: true,
  };
  for (const name of ['web-1', 'web-2']) addVm(name, [controller]);
  addVm('mail', []);
  return { server, client: new Client(server) };
}

const evictions = ({ writes }: StillClient): string[] =>
  writes.flatMap((write) => /pods\/pod-(.+)\/eviction/.exec(write)?.[1] ?? []).sort();
const start = (client: Client, options: Partial<Parameters<typeof startDrain>[2]> = {}) =>
  startDrain(client.asClient, NODE, { dryRun: 'none', ...options });

test('a drain that would shut VMs down says which, by pool, and begins nothing unless it is told to', async () => {
  const { client } = aNode();
  await expect(start(client)).rejects.toThrow(
    'nothing was changed: 3 VMs will be shut down, whatever the budgets of their pools: ' +
      '2 of pool shop/web (maxUnavailable 1), shop/mail. --shut-down allows that',
  );
  expect(client.writes).toEqual([]);
  const { notes } = await start(client, { dryRun: 'server' });
  expect(notes.join()).toContain('3 VMs will be shut down');
});

test('VMs that a drain has shut down have an Event with the user and the reason', async () => {
  const { client } = aNode();
  const { sentence } = await start(client, { shutDown: true, reason: 'new memory' });
  expect(sentence).toContain('3 VMs evicted');
  expect(evictions(client)).toEqual(['mail', 'web-1', 'web-2']);
  expect(client.events.map((event) => [event['involvedObject'], event['message']])).toContainEqual([
    expect.objectContaining({ kind: 'VirtualMachine', name: 'mail' }),
    'shut down to leave node worker-7, requested by ann: new memory',
  ]);
});

test('a drain evicts no VM whose owner opted out of disruption, not even if it may shut VMs down', async () => {
  const { client } = aNode({ optedOut: ['mail', 'web-2'] });
  const { notes } = await start(client, { shutDown: true });
  expect(evictions(client)).toEqual(['web-1']);
  expect(notes).toContain('shop/mail stays: its owner opted out of disruption');
});

test('a VM whose owner opts out while the node is being cordoned is not evicted', async () => {
  const { server, client } = aNode();
  client.onWrite = (_verb, { plural }) => {
    const annotations = { [DO_NOT_DISRUPT_ANNOTATION]: 'true' };
    const optOut = (vm: Stored): KubeObject => ({ ...vm, metadata: { ...vm.metadata, annotations } });
    if (plural === Nodes.plural) server.write(VirtualMachines, { namespace: 'shop', name: 'mail' }, optOut);
  };
  await start(client, { shutDown: true });
  expect(evictions(client)).toEqual(['web-1', 'web-2']);
});

/** The same node, with a budget over all VMs of the namespace; what drover was asked to do, besides evictions. */
function aNodeWithBudget(spec: object = { selector: {}, maxUnavailable: 1 }) {
  const { server, client } = aNode();
  const conditions = [{ type: 'Ready', status: 'True' }];
  for (const { metadata } of server.all(VirtualMachineInstances))
    server.write(VirtualMachineInstances, metadata, (vmi) => ({
      ...vmi,
      status: { phase: 'Running', nodeName: NODE, conditions },
    }));
  server.create(VirtualMachineDisruptionBudgets, budgetManifest(spec));
  const operations = () =>
    server
      .all(VirtualMachineOperations)
      .map(({ metadata, spec: asked }) => ({ labels: metadata.labels, ...(asked as { action: string; vms: object }) }));
  return { server, client, operations };
}

test('VMs under a disruption budget are not evicted, but moved by one operation that the budget holds', async () => {
  const { client, operations } = aNodeWithBudget();
  await expect(start(client)).rejects.toThrow(
    '3 VMs will be shut down within disruption budgets: shop/web-1, shop/web-2, shop/mail. --shut-down allows that',
  );
  expect(operations()).toEqual([]);
  const { sentence } = await start(client, { shutDown: true, reason: 'new memory' });
  expect(sentence).toMatch(/^node worker-7 cordoned, and 3 VMs to be restarted by operation shop\/restart-\d+$/);
  expect(evictions(client)).toEqual([]);
  expect(operations()).toEqual([
    expect.objectContaining({
      action: 'Restart',
      vms: { names: ['mail', 'web-1', 'web-2'] },
      labels: { 'drover.dev/drain': NODE },
      reason: 'drain of node worker-7: new memory',
      requestedBy: 'ann',
    }),
  ]);
  // Asked for again, the drain is the same one.
  expect((await start(client, { shutDown: true })).sentence).toBe(
    'node worker-7 cordoned, and none of 3 VMs on it asked to leave',
  );
  expect(operations()).toHaveLength(1);
  expect(evictions(client)).toEqual([]);
});

test('users who end the command are told which operations continue with the VMs that are left', async () => {
  const { client } = aNodeWithBudget();
  const progress = { isCordoned: false, ends: new Map(), of: 0, handedOver: [] };
  expect(formatInterrupted(NODE, progress)).toBe('nothing was changed: node worker-7 is as it was');
  await startDrain(client.asClient, NODE, { shutDown: true, dryRun: 'none' }, progress);
  expect(formatInterrupted(NODE, progress)).toMatch(
    /^node worker-7 stays cordoned, and 3 VMs to be restarted by operation shop\/restart-\d+: /,
  );
});

test('a drain past budgets has VMs move that wait for one, by another operation that waits for none', async () => {
  const { client, operations } = aNodeWithBudget({ selector: {}, maxUnavailable: 1 });
  await start(client, { shutDown: true });
  await start(client, { shutDown: true, pastBudgets: true });
  expect(operations()).toEqual([
    expect.not.objectContaining({ pastBudgets: true }),
    expect.objectContaining({ pastBudgets: true, vms: { names: ['mail', 'web-1', 'web-2'] } }),
  ]);
  await start(client, { shutDown: true, pastBudgets: true });
  expect(operations()).toHaveLength(2);
});

test.each([
  ['virtualmachinedisruptionbudgets', ' in shop'],
  ['clustervirtualmachinedisruptionbudgets', ''],
])('a user who may not override all budgets of the VMs drains past none: %s', async (plural, where) => {
  const { client } = aNodeWithBudget();
  const create = client.create.bind(client);
  client.create = async (resource, object, options) => {
    const { verb, resource: of } = (object['spec'] as { resourceAttributes?: { verb: string; resource: string } })
      .resourceAttributes ?? { verb: '', resource: '' };
    const made = await create(resource, object, options);
    return verb === 'override' && of === plural ? { ...made, status: { allowed: false } } : made;
  };
  await expect(start(client, { shutDown: true, pastBudgets: true })).rejects.toThrow(
    `nothing was changed: you may not override ${plural}.drover.dev${where}`,
  );
  expect(client.writes).toEqual([]);
  await start(client, { shutDown: true });
});

test('VMs that no budget selects are evicted beside those that drover moves', async () => {
  const { client, server, operations } = aNodeWithBudget({
    selector: { matchLabels: { app: 'mail' } },
    maxUnavailable: 1,
  });
  server.write(VirtualMachines, { namespace: 'shop', name: 'mail' }, (vm) => ({
    ...vm,
    metadata: { ...vm.metadata, labels: { app: 'mail' } },
  }));
  await start(client, { shutDown: true });
  expect(operations()).toMatchObject([{ vms: { names: ['mail'] } }]);
  expect(evictions(client)).toEqual(['web-1', 'web-2']);
});

test('a drain that the API server would not let drover carry out changes nothing', async () => {
  const { client } = aNodeWithBudget();
  const create = client.create.bind(client);
  client.create = async (resource, object, options) => {
    if (resource === VirtualMachineOperations) throw new KubeError(403, 'Forbidden', 'ann may not restart these VMs');
    return create(resource, object, options);
  };
  await expect(start(client, { shutDown: true })).rejects.toThrow('nothing was changed: ann may not restart these VMs');
  expect(client.writes).toEqual([]);
});

test('a drain that is cancelled aborts the operation that moves its VMs', async () => {
  const { client, operations } = aNodeWithBudget();
  await start(client, { shutDown: true });
  expect((await cancelDrain(client.asClient, NODE, 'client')).sentence).toMatch(/aborted \(dry run\)$/);
  expect(operations()).not.toMatchObject([{ aborted: true }]);
  expect((await cancelDrain(client.asClient, NODE, 'none')).sentence).toMatch(
    /^node worker-7 uncordoned, and operation shop\/restart-\d+ aborted$/,
  );
  expect(operations()).toMatchObject([{ aborted: true }]);
  expect((await cancelDrain(client.asClient, NODE, 'none')).sentence).toContain('unchanged');
});

test.each([
  ['NotFound', 'virtualmachineinstances.kubevirt.io "mail" not found', []],
  ['404', 'Page Not Found', ["shop/mail is still asked to leave: KubeVirt before 1.7 can't take that back"]],
])('a drain that is cancelled says which VM is still asked to leave: %s', async (reason, message, notes) => {
  const { server, client } = aNode();
  server.write(VirtualMachineInstances, { namespace: 'shop', name: 'mail' }, (vmi) => ({
    ...vmi,
    status: { phase: 'Running', nodeName: NODE, evacuationNodeName: NODE },
  }));
  client.request = () => Promise.reject(new KubeError(404, reason, message));
  expect((await cancelDrain(client.asClient, NODE, 'none')).notes).toEqual(notes);
});
