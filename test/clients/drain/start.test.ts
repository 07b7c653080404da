import { expect, test } from 'vitest';
import { DO_NOT_DISRUPT_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import type { KubeObject, Stored } from '../../../api/objects.ts';
import {
  CoreEvents,
  KubeVirts,
  Nodes,
  Pods,
  VirtualMachineInstances,
  VirtualMachinePools,
  VirtualMachines,
  type Resource,
} from '../../../api/resources.ts';
import { startDrain } from '../../../clients/drain/start.ts';
import { StillClient } from '../../activities/forged/still-client.ts';
import { aTemplate } from '../../model/pools.ts';
import { ApiServer } from '../../model/world/api-server.ts';

const NODE = 'worker-7';

/** Answers each question for a right with yes. */
class Client extends StillClient {
  override async create(resource: Resource, object: KubeObject): Promise<Stored> {
    if (resource.plural === CoreEvents.plural) return super.create(resource, object);
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
