import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { ClusterCache } from '../../../activities/cache/cluster-cache.ts';
import type { Stored } from '../../../api/objects.ts';
import { Nodes, type Resource } from '../../../api/resources.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';

/** An API server that goes back in time, and tells of nothing that happens. */
class Server {
  version = 500;
  /** Whether the node is ready, and at which version it became so. */
  node = { isReady: true, version: 400 };
  async *pages({ plural }: Resource) {
    const { isReady, version } = this.node;
    const node = {
      metadata: { name: 'node-1', uid: 'node-1', resourceVersion: String(version) },
      status: { conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }] },
    };
    yield {
      metadata: { resourceVersion: String(this.version) },
      items: plural === Nodes.plural ? [node as unknown as Stored] : [],
    };
  }

  async *watch(_resource: Resource, { signal, onOpen }: { signal: AbortSignal; onOpen?: () => void }) {
    onOpen?.();
    if (!signal.aborted) await once(signal, 'abort');
    yield* [];
  }

  request = () => Promise.resolve({ metadata: { resourceVersion: String(this.version) } });
}

test('caches that have noticed a restore name no version from before it, of nodes and migrations either', async () => {
  const server = new Server();
  const told: string[] = [];
  const cache = new ClusterCache({ client: server as unknown as KubeClient, onRestored: () => told.push('restored') });
  onTestFinished(() => cache.stop());
  await cache.start();
  expect(cache.versionsOf('vms', 'nodes')).toEqual({ vms: '500', nodes: '0' });
  server.node = { isReady: false, version: 510 };
  server.version = 520;
  await cache.nodes.relist();
  expect(cache.versionsOf('nodes')).toEqual({ nodes: '500' });

  server.node = { isReady: true, version: 400 };
  server.version = 450;
  await Promise.all([cache.noticeRestore(), cache.noticeRestore()]);
  expect([told, cache.restores]).toEqual([['restored'], 1]);
  const reached = await cache.catchUp({});
  expect(reached).toMatchObject({ vms: '450', vmis: '450' });
  expect(Number(reached.nodes)).toBeLessThanOrEqual(450);
  await cache.noticeRestore();
  expect(cache.restores).toBe(1);
});
