import { expect, test } from 'vitest';
import { memberOfAnnotation } from '../../../decisions/views/annotations/member-of.ts';
import { keyOf, targetOf, World } from '../forged/world.ts';

const ORPHANING = { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['drover.dev/pool'] };

test.each([
  ['web-1', {}, 'CloneUnlabelled', /cloned from a VM/],
  ['web-2', {}, 'SuccessfulDetach', /^Detached by hand: web-2/],
  ['web-2', ORPHANING, 'SuccessfulDetach', /^Left without an owner, since .* --cascade=orphan: web-2/],
])(
  'a VM without a controller whose record is of %s, of a pool with %j, has the Event %s',
  async (name, metadata, reason, note) => {
    const world = new World();
    const pool = world.pool('web', { replicas: 0 }, metadata);
    const annotations = memberOfAnnotation(pool.metadata.uid, name, Date.now());
    const vm = world.vm(pool, 2, { ownerReferences: [], annotations });
    await world.start();
    await world.written('unlabelVms', [keyOf(pool), [targetOf(vm)]]);
    expect(world.client.events).toMatchObject([{ reason, message: expect.stringMatching(note) as string }]);
  },
);
