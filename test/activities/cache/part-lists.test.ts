import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { ClusterCache } from '../../../activities/cache/cluster-cache.ts';
import type { Stored } from '../../../api/objects.ts';
import { VirtualMachines, type Resource } from '../../../api/resources.ts';
import type { KubeClient, ListOptions } from '../../../kubernetes/client.ts';

/** A quiet API server: what happened elsewhere has raised its version, and no event shows it. */
class Server {
  version = 500;
  lists: string[] = [];

  async *pages({ plural }: Resource, { namespace, fieldSelector }: ListOptions) {
    this.lists.push([plural, namespace ?? 'all', fieldSelector].filter(Boolean).join(' '));
    const metadata = { namespace: 'shop', name: 'web-1', uid: 'vm', resourceVersion: String(this.version) };
    const vm = { metadata, spec: { template: { spec: { domain: {} } } } } as unknown as Stored;
    yield {
      metadata: { resourceVersion: String(this.version) },
      items: plural === VirtualMachines.plural ? [vm] : [],
    };
  }

  async *watch(_resource: Resource, { signal, onOpen }: { signal: AbortSignal; onOpen?: () => void }) {
    onOpen?.();
    if (!signal.aborted) await once(signal, 'abort');
    yield* [];
  }

  request = () => Promise.resolve({ metadata: { resourceVersion: String(this.version) } });
}

async function quiet(): Promise<{ server: Server; cache: ClusterCache }> {
  const server = new Server();
  const cache = new ClusterCache({ client: server as unknown as KubeClient });
  onTestFinished(() => cache.stop());
  await cache.start();
  server.lists = [];
  server.version = 600;
  return { server, cache };
}

const VERSIONS = { pools: '600', vms: '600', vmis: '600', namespaces: '600' };
const NAMED = ['virtualmachineinstances shop metadata.name=web-1', 'virtualmachines shop metadata.name=web-1'];

test('who reads one VM has its pools, that VM and its VMI listed, and no whole collection but the namespaces', async () => {
  const { server, cache } = await quiet();
  const reached = await cache.catchUp(VERSIONS, { namespace: 'shop', names: ['web-1'], areOfOthers: true });
  expect(server.lists.toSorted()).toEqual(['namespaces all', ...NAMED, 'virtualmachinepools shop'].toSorted());
  expect(reached).toMatchObject(VERSIONS);
  await cache.catchUp(VERSIONS, { namespace: 'shop', names: ['web-1'], areOfOthers: true });
  expect(server.lists).toHaveLength(4);
});

test('a list of a namespace is made once for all who wait for it', async () => {
  const { server, cache } = await quiet();
  const callers = Array.from({ length: 20 }, () =>
    cache.catchUp({ vms: '600' }, { namespace: 'shop', areOfOthers: true }),
  );
  await Promise.all(callers);
  expect(server.lists).toEqual(['virtualmachines shop']);
});

test('whoever reads VMs of all namespaces has all listed', async () => {
  const { server, cache } = await quiet();
  await cache.catchUp({ vms: '600' }, { areOfOthers: true });
  expect(server.lists).toEqual(['virtualmachines all']);
  expect(cache.vms.hasReached(600n)).toBe(true);
});

test('an API server that turns out to be restored when a part is listed has all listed', async () => {
  const { server, cache } = await quiet();
  server.version = 450;
  await cache.vms.relist({ namespace: 'shop' });
  expect(server.lists.slice(0, 2)).toEqual(['virtualmachines shop', 'virtualmachines all']);
  expect(cache.vms).toMatchObject({ synced: true, version: 450n });
});
