import { expect, test } from 'vitest';
import { POOL_LABEL, REVISION_LABEL } from '../../../api/labels-and-annotations.ts';
import { controllerOf, type OwnerReference, type Stored } from '../../../api/objects.ts';
import { ControllerRevisions } from '../../../api/resources.ts';
import { memberOfAnnotation } from '../../../decisions/views/annotations/member-of.ts';
import { aTemplate } from '../../model/pools.ts';
import { callsTo } from '../forged/calls.ts';
import { keyOf, SHOP, targetOf, World } from '../forged/world.ts';

const OLD = aTemplate({ version: 7 });

type Change = (revision: Stored) => object;

/** A pool whose VMs of an older revision a backup has restored, and that revision as `change` has it. */
function restored(change: Change = () => ({}), numbers: readonly number[] = [1]) {
  const world = new World();
  const pool = world.pool('web', { revisionHistoryLimit: 0 });
  const { metadata } = world.revision(pool, 3, OLD);
  const at = { namespace: SHOP, name: metadata.name };
  world.server.write(ControllerRevisions, at, (made) => {
    const { ownerReferences: _owners, ...left } = made.metadata;
    return { ...made, metadata: left, ...change({ ...made, metadata: left }) };
  });
  const vms = numbers.map((number) => {
    const annotations = memberOfAnnotation('uid-of-the-earlier-pool', `web-${number}`, 0);
    const before = { ...pool, spec: { ...pool.spec, template: OLD } };
    return world.vm(before, number, { ownerReferences: [], annotations });
  });
  const ownerOf = (): OwnerReference | undefined => controllerOf(world.server.get(ControllerRevisions, at));
  const adopt = (): Promise<string[]> =>
    world.written('adoptReturnedVms', [keyOf(pool), vms.map(targetOf), { generation: 1, role: null }]);
  return { world, pool, name: metadata.name, ownerOf, adopt };
}

test("the revision of VMs that a backup has restored is their pool's again before they are, by one read", async () => {
  const { world, pool, name, ownerOf, adopt } = restored(undefined, [1, 2]);
  await world.start();
  const calls = callsTo(world.client);
  expect(await adopt()).toEqual([
    `patch controllerrevisions shop/${name}`,
    'patch virtualmachines shop/web-1',
    'patch virtualmachines shop/web-2',
  ]);
  expect(calls.filter((call) => call === `get controllerrevisions ${name}`)).toHaveLength(1);
  expect(ownerOf()?.uid).toBe(pool.metadata.uid);
});

test.each<[string, Change]>([
  ['of another content than its name says', () => ({ data: { template: aTemplate({ version: 8 }) } })],
  [
    'with the label of another revision',
    ({ metadata }) => ({ metadata: { ...metadata, labels: { ...metadata.labels, [REVISION_LABEL]: 'another' } } }),
  ],
  [
    'with the label of another pool',
    ({ metadata }) => ({ metadata: { ...metadata, labels: { ...metadata.labels, [POOL_LABEL]: 'api' } } }),
  ],
  [
    'of another owner',
    ({ metadata }) => ({
      metadata: {
        ...metadata,
        ownerReferences: [{ apiVersion: 'example.com/v1', kind: 'Farm', name: 'farm', uid: 'f', controller: true }],
      },
    }),
  ],
])('a ControllerRevision %s is left as it is, and the VM is adopted', async (_what, change) => {
  const { world, pool, ownerOf, adopt } = restored(change);
  await world.start();
  expect(await adopt()).toEqual(['patch virtualmachines shop/web-1']);
  expect(ownerOf()?.uid).not.toBe(pool.metadata.uid);
});

test('the revision of a VM that is yet to be adopted is not deleted', async () => {
  const { world, pool, name } = restored();
  world.server.write(ControllerRevisions, { namespace: SHOP, name }, (made) => ({
    ...made,
    metadata: { ...made.metadata, ownerReferences: world.revision(pool, 4, 9).metadata.ownerReferences! },
  }));
  const unused = world.server.all(ControllerRevisions).find(({ metadata }) => metadata.name !== name)!;
  await world.start();
  const names = [name, unused.metadata.name];
  expect(await world.written('deleteRevisions', [keyOf(pool), names])).toEqual([
    `delete controllerrevisions shop/${unused.metadata.name}`,
  ]);
});
