import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, test } from 'vitest';
import type { ClusterCache } from '../../../activities/cache/cluster-cache.ts';
import { SpecWriter } from '../../../activities/disks/spec-writer.ts';
import { createEach } from '../../../activities/members/create-members.ts';
import { VirtualMachines } from '../../../api/resources.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import { aFleet } from '../../integration/fleet.ts';
import { haltedVm } from './halted-vm.ts';

const cluster = aFleet({ simulator: false, workers: 0 });

test("a VM that already exists counts as made if it is the owner's; a name of another owner's VM is reported", async () => {
  const { kube } = cluster();
  const namespace = await cluster().namespace();
  const pool = await cluster().createPool(namespace, 'web', { replicas: 3 });
  const key = { namespace, name: 'web', uid: pool.metadata.uid };
  await kube.create(VirtualMachines, haltedVm(key, 'web-1'));
  const others = await kube.create(VirtualMachines, haltedVm({ ...key, uid: 'of-another-pool' }, 'web-2'));

  const done = await new MockActivityEnvironment().run(() =>
    createEach({
      client: kube,
      key,
      pool: pool as StoredPool,
      // These VMs have no disks, so it reads no cache.
      writer: new SpecWriter(kube, {} as ClusterCache),
      items: ['web-1', 'web-2', 'web-3'].map((name) => ({ name })),
      concurrency: 1,
      skipSlowStart: true,
      holders: () => [],
      creationBlockedBy: () => null,
      vmOf: ({ name }) => haltedVm(key, name),
    }),
  );

  expect(done).toMatchObject({ nameConflicts: ['web-2'], notWanted: [], refused: null });
  expect((await kube.get(VirtualMachines, { namespace, name: 'web-2' })).metadata.uid).toBe(others.metadata.uid);
  expect(await kube.get(VirtualMachines, { namespace, name: 'web-3' })).toBeDefined();
});
