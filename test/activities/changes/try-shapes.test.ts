import { expect, test } from 'vitest';
import { tryShapes, type TryShapesOptions } from '../../../activities/changes/try-shapes.ts';
import { MOST_SHAPES } from '../../../activities/changes/vm-changer.ts';
import { VirtualMachines } from '../../../api/resources.ts';
import { KubeError } from '../../../kubernetes/errors.ts';
import { CHANGE, inActivity, Shop } from './shop.ts';

function trialOf(shop: Shop, how: Partial<TryShapesOptions> = {}) {
  const vms = shop.server.all(VirtualMachines);
  const chosen = new Map(vms.map(({ metadata: { name, uid } }) => [`shop/${name}`, uid]));
  const options = { client: shop.client, cache: shop.cache, change: CHANGE, chosen, isMeant: () => true };
  return inActivity(() => tryShapes({ ...options, concurrency: 2, ...how }));
}

/** Most VMs of the namespace, which are listed, and a few of many, which are read one by one. */
test.each([
  { others: 45, reads: 0 },
  { others: 46, reads: 5 },
])('one VM of each shape of 5 is tried beside $others others, and none is written', async ({ others, reads }) => {
  const shop = new Shop();
  const count = 5;
  for (let index = 0; index < count; index++) shop.vm(`vm-${index}`, index % 2 === 0 ? { hostname: 'old' } : {});
  shop.policy = (vm) => {
    if (vm.metadata.name !== 'vm-1') return vm;
    throw new KubeError(422, 'Invalid', 'admission webhook "virt-api" denied the request: no');
  };
  const chosen = new Map(shop.server.all(VirtualMachines).map(({ metadata: { name, uid } }) => [`shop/${name}`, uid]));
  for (let index = 0; index < others; index++) shop.vm(`other-${index}`);
  const before = shop.server.all(VirtualMachines);
  expect(await trialOf(shop, { chosen })).toEqual({
    shapes: 2,
    untried: 0,
    refused: [
      {
        paths: ['metadata.labels.tier', 'spec.template.spec.hostname'],
        vms: Math.floor(count / 2),
        tried: 'shop/vm-1',
        message: 'admission webhook "virt-api" denied the request: no',
      },
    ],
  });
  expect(shop.asked).toEqual([
    { name: 'vm-0', isDryRun: true },
    { name: 'vm-1', isDryRun: true },
  ]);
  // Each VM that is tried is read once more.
  expect(shop.reads).toBe(reads + 2);
  expect(shop.server.all(VirtualMachines)).toEqual(before);
});

test('no shape is tried once a VM is changed, and no VM that may not be touched', async () => {
  const shop = new Shop();
  const [first] = [shop.vm('a'), shop.vm('b')];
  expect(await trialOf(shop, { isMeant: () => false })).toEqual({ shapes: 0, untried: 0, refused: [] });
  await shop.changer()(first);
  shop.asked.length = 0;
  expect(await trialOf(shop)).toBeNull();
  expect(shop.asked).toEqual([]);
});

test('a change with very many shapes leaves the rest until its turn comes', async () => {
  const shop = new Shop();
  for (let index = 0; index < MOST_SHAPES + 3; index++) shop.vm(`vm-${index}`, { hostname: `old-${index}` });
  expect(await trialOf(shop, { concurrency: 64 })).toEqual({ shapes: MOST_SHAPES, untried: 3, refused: [] });
  expect(shop.asked).toHaveLength(MOST_SHAPES);
});
