import { expect, test } from 'vitest';
import { VirtualMachineOperationSchedules } from '../../../api/resources.ts';
import { SHOP, World } from '../forged/world.ts';
import { watchOf } from './watch-of.ts';

test('a watch that has moved to this worker signals those first that have something to do, then all', async () => {
  const world = new World();
  const settled = world.schedule({});
  for (const name of ['a', 'b'])
    world.server.create(VirtualMachineOperationSchedules, { ...settled, metadata: { namespace: SHOP, name } });
  const { status: _, ...late } = settled as typeof settled & { status: unknown };
  world.server.create(VirtualMachineOperationSchedules, { ...late, metadata: { namespace: SHOP, name: 'z' } });
  await world.start();
  const { signalled, stop } = watchOf(world);
  const names = () => signalled.map((key) => key.split('/')[1]);
  await expect.poll(() => names().length).toBeGreaterThanOrEqual(4);
  expect(names().slice(0, 4)).toEqual(['z', 'night', 'a', 'b']);
  await stop();
});
