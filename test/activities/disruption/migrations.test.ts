import { expect, test } from 'vitest';
import { Nodes, VirtualMachineInstanceMigrations, VirtualMachineInstances } from '../../../api/resources.ts';
import { keyOf, World } from '../forged/world.ts';

/** A VM that is to leave its node, by a migration. `meanwhile`: what happens as its claim is written. */
async function evacuated(meanwhile: (world: World) => void): Promise<unknown[]> {
  const world = new World();
  const pool = world.pool('web', { replicas: 1, drain: {} });
  const { metadata: at } = world.vm(pool, 1);
  world.server.write(Nodes, { name: 'node-1' }, (node) => ({ ...node, spec: { unschedulable: true } }));
  const { metadata } = world.server.write(VirtualMachineInstances, at, (vmi) => ({
    ...vmi,
    spec: { ...(vmi['spec'] as object), evictionStrategy: 'External' },
    status: {
      ...(vmi['status'] as object),
      evacuationNodeName: 'node-1',
      conditions: ['Ready', 'LiveMigratable'].map((type) => ({ type, status: 'True' })),
    },
  }));
  await world.start();
  world.client.onWrite = (_verb, resource) => {
    if (resource.plural === 'virtualmachinepools') meanwhile(world);
  };
  const target = { name: at.name, uid: metadata.uid, node: 'node-1', act: 'migrate', message: '' };
  await world.written('evacuateVms', [keyOf(pool), [target], {}]);
  return world.server.all(VirtualMachineInstanceMigrations);
}

test('a VM that is to leave its node is migrated', async () => {
  expect(await evacuated(() => {})).toHaveLength(1);
});

test('a VMI that has come in place of the one that was to leave is not migrated', async () => {
  let isReplaced = false;
  const made = await evacuated(({ server }) => {
    if (isReplaced) return;
    isReplaced = true;
    const [vmi] = server.all(VirtualMachineInstances);
    const { name, namespace, ownerReferences } = vmi!.metadata;
    server.delete(VirtualMachineInstances, { namespace, name });
    server.create(VirtualMachineInstances, {
      ...vmi,
      metadata: { name, ...(namespace && { namespace }), ...(ownerReferences && { ownerReferences }) },
    });
  });
  expect(isReplaced).toBe(true);
  expect(made).toEqual([]);
});
