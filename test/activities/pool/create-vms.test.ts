import { expect, test } from 'vitest';
import { revisionOf } from '../../../decisions/template/revision.ts';
import { poolTemplate } from '../../../decisions/template/template.ts';
import { keyOf, World } from '../forged/world.ts';

/** Has a worker make the VMs with these numbers of a pool that wants three and has VMs with other numbers. */
async function madeBeside(others: readonly number[], numbers: number[]): Promise<string[]> {
  const world = new World();
  const pool = world.pool('web', { replicas: 3 });
  for (const number of others) world.vm(pool, number);
  await world.start();
  const revision = revisionOf(poolTemplate(pool.spec));
  const writes = await world.written('createVms', [keyOf(pool), numbers, revision, {}, { generation: 1 }]);
  return writes.filter((write) => write.startsWith('create virtualmachines '));
}

test('a VM that a user has put into the pool since the plan takes the place of one that was planned', async () => {
  expect(await madeBeside([1], [2, 3])).toHaveLength(2);
  expect(await madeBeside([1, 9], [2, 3])).toHaveLength(1);
  expect(await madeBeside([1, 8, 9], [2, 3])).toEqual([]);
});
