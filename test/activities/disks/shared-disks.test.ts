import { expect, test } from 'vitest';
import type { Stored } from '../../../api/objects.ts';
import { DataVolumes, PersistentVolumeClaims, VirtualMachinePools, VirtualMachines } from '../../../api/resources.ts';
import { keyOf, SHOP, targetOf, World } from '../forged/world.ts';

const NOBODY = [{ apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachine', name: 'web-1', uid: 'uid-of-another' }];

/** A way in which a VM is deleted with its disks: the activity, and what it is sent once the caches are filled. */
interface Way {
  vm: Stored;
  activity: string;
  args: () => unknown[];
}

const WAYS: Record<string, (world: World) => Way> = {
  'a scale-in that keeps no disks': (world) => {
    const pool = world.pool('web', { replicas: 0 });
    const vm = world.vm(pool, 1);
    const cause = { because: 'Surplus', generation: 1, others: [] };
    return { vm, activity: 'deleteVms', args: () => [keyOf(pool), [targetOf(vm)], false, cause] };
  },
  'the end of an update with extra VMs': (world) => {
    const pool = world.pool('web', { replicas: 1, maxSurge: 1 });
    world.vm(pool, 2);
    const vm = world.vm(pool, 1, { role: 'Surge' });
    return { vm, activity: 'deleteVms', args: () => [keyOf(pool), [targetOf(vm)], false, { because: 'Surge' }] };
  },
  'the deletion of its pool': (world) => {
    const pool = world.pool('web');
    const vm = world.vm(pool, 1);
    world.server.delete(VirtualMachinePools, pool.metadata);
    return { vm, activity: 'deleteVms', args: () => [keyOf(pool), [targetOf(vm)], false, { because: 'OwnerDeleted' }] };
  },
  'a replacement by an update': (world) => {
    const { pool, vms, to, from } = world.outdated();
    const vm = vms[0]!;
    const taken = { ...targetOf(vm), act: 'replace', from, wasDown: false };
    const update = { key: keyOf(pool), revision: to, n: 1, rollout: to, vms: [taken], startedAt: 0, minVersions: {} };
    return { vm, activity: 'removeVms', args: () => [update] };
  },
};

/** Which VMs are deleted, and what is said. */
async function deleted(
  make: (world: World) => Way,
  { ownedBy, isUsed }: { ownedBy?: object[]; isUsed: boolean },
): Promise<{ deletions: string[]; said: string }> {
  const world = new World();
  const { vm, activity, args } = make(world);
  const { name, uid } = vm.metadata;
  const own = [{ apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachine', name, uid, controller: true }];
  const metadata = { namespace: SHOP, name: 'root-1', ownerReferences: (ownedBy ?? own) as typeof own };
  world.server.create(DataVolumes, { metadata });
  world.server.create(PersistentVolumeClaims, { metadata: { namespace: SHOP, name: 'root-1' } });
  const volumes = [{ name: 'look', persistentVolumeClaim: { claimName: 'root-1' } }];
  const spec = { runStrategy: 'Always', template: { spec: { domain: { devices: {} }, volumes } } };
  if (isUsed) world.server.create(VirtualMachines, { metadata: { namespace: SHOP, name: 'rescue' }, spec });
  await world.start();
  const writes = await world.written(activity, args());
  return {
    deletions: writes.filter((write) => write.startsWith('delete virtualmachines ')),
    said: JSON.stringify([world.answer, String(world.failure)]),
  };
}

test.each(Object.entries(WAYS))('%s deletes no disk that another VM uses', async (_what, make) => {
  expect((await deleted(make, { isUsed: false })).deletions).toEqual(['delete virtualmachines shop/web-1']);
  const { deletions, said } = await deleted(make, { isUsed: true });
  expect(deletions).toEqual([]);
  expect(said).toContain('its disk root-1 would go with it, and is used by VirtualMachine rescue');
});

test.each(Object.entries(WAYS))("%s leaves a disk that is not the VM's own to others", async (_what, make) => {
  expect((await deleted(make, { ownedBy: NOBODY, isUsed: true })).deletions).toHaveLength(1);
});
