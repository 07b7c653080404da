import { describe, expect, test } from 'vitest';
import {
  ORPHAN_FINALIZER,
  POOL_FINALIZER,
  REMOVING_ANNOTATION,
  ROLE_LABEL,
} from '../../../api/labels-and-annotations.ts';
import type { Stored } from '../../../api/objects.ts';
import {
  PersistentVolumeClaims,
  VirtualMachineInstances,
  VirtualMachinePools,
  VirtualMachines,
} from '../../../api/resources.ts';
import { keptDiskOf } from '../../../decisions/template/kept-disk.ts';
import { keyOf, SHOP, targetOf, World } from '../forged/world.ts';

/** Has a worker release a VM of this role, and returns what was written and the VM after that. */
async function released(
  role: 'Surge' | 'Standby',
  change: (world: World, vm: Stored) => void = () => {},
): Promise<{ writes: string[]; vm: Stored }> {
  const world = new World();
  const pool = world.pool('web', {}, { finalizers: [POOL_FINALIZER, ORPHAN_FINALIZER] });
  const vm = world.vm(pool, 1, { role });
  change(world, vm);
  world.server.delete(VirtualMachinePools, pool.metadata);
  await world.start();
  const writes = await world.written('releaseVms', [keyOf(pool), [targetOf(vm)]]);
  return { writes, vm: world.server.get(VirtualMachines, vm.metadata) };
}

const paused = (world: World, vm: Stored): void =>
  void world.server.write(VirtualMachineInstances, vm.metadata, (before) => ({
    ...before,
    status: { phase: 'Running', conditions: [{ type: 'Paused', status: 'True', reason: 'PausedByUser' }] },
  }));

describe('a pool that is deleted without its VMs', () => {
  test.each(['Surge', 'Standby'] as const)('keeps a %s VM, which becomes an ordinary one', async (role) => {
    const { vm } = await released(role);
    expect(vm.metadata.ownerReferences).toEqual([]);
    expect(vm.metadata.labels).not.toHaveProperty(ROLE_LABEL);
  });

  test('resumes a standby VM that it has paused', async () => {
    const { writes } = await released('Standby', paused);
    expect(writes[0]).toMatch(/^PUT .*\/virtualmachineinstances\/web-1\/unpause$/);
  });
});

describe('a VM that a user has labelled as leaving', () => {
  test.each([
    ['Disabled', 'healing'],
    ['Offline', 'scale-in'],
  ] as const)('takes no disk away from a pool with statePreservation %s', async (statePreservation, keptBy) => {
    const world = new World();
    const pool = world.pool('web', { scaleInStrategy: { proactive: { statePreservation } } });
    const vm = world.halted(pool, 1, { annotations: { [REMOVING_ANNOTATION]: 'true' } });
    const { name, uid } = vm.metadata;
    const owner = { apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachine', name, uid, controller: true };
    const claim = { namespace: SHOP, name: 'root-1', ownerReferences: [owner] };
    world.server.create(PersistentVolumeClaims, { metadata: claim });
    await world.start();
    await world.written('deleteVms', [keyOf(pool), [targetOf(vm)], true, { because: 'Annotated' }]);
    const { metadata } = world.server.get(PersistentVolumeClaims, claim);
    expect(metadata.ownerReferences).toEqual([]);
    expect(keptDiskOf(metadata)?.keptBy).toBe(keptBy);
  });
});
