import { expect, test } from 'vitest';
import { memberOfAnnotation } from '../../../decisions/views/annotations/member-of.ts';
import { keyOf, targetOf, World } from '../forged/world.ts';

test.each([
  ['web-1', 'CloneUnlabelled', /cloned from a VM/],
  ['web-2', 'SuccessfulDetach', /^Detached by hand: web-2/],
])('a VM without a controller whose record is of %s is told as %s', async (name, reason, note) => {
  const world = new World();
  const pool = world.pool('web', { replicas: 0 });
  const annotations = memberOfAnnotation(pool.metadata.uid, name, Date.now());
  const vm = world.vm(pool, 2, { ownerReferences: [], annotations });
  await world.start();
  await world.written('unlabelVms', [keyOf(pool), [targetOf(vm)]]);
  expect(world.client.events).toMatchObject([{ reason, message: expect.stringMatching(note) as string }]);
});
