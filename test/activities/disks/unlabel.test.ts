import { describe, expect, test } from 'vitest';
import type { Stored } from '../../../api/objects.ts';
import { PersistentVolumeClaims, VirtualMachines } from '../../../api/resources.ts';
import { keptDiskMetadata, keptDiskOf } from '../../../decisions/template/kept-disk.ts';
import { STATE_CLAIM_LABEL } from '../../../decisions/template/vm-state.ts';
import { aKeptDisk } from '../../decisions/fixtures/kept-disks.ts';
import { aTemplate } from '../../model/pools.ts';
import { keyOf, SHOP, targetOf, World } from '../forged/world.ts';

/** Takes the mark off a claim without a DataVolume, and returns what came of that and whether the disk is kept. */
async function unmarked(disk: string | null, labels = {}, change = (_world: World, _vm: Stored): void => {}) {
  const world = new World();
  const pool = world.pool('web', disk === null ? { template: aTemplate() } : { template: aTemplate({ disk }) });
  const vm = world.vm(pool, 1);
  const mark = keptDiskMetadata(aKeptDisk({ poolUid: pool.metadata.uid }));
  const metadata = { namespace: SHOP, name: 'root-1', ...mark, labels: { ...mark.labels, ...labels } };
  const claim = world.server.create(PersistentVolumeClaims, { metadata });
  change(world, vm);
  await world.start();
  await world.written('unlabelKeptDisks', [keyOf(pool), [targetOf(claim)]]);
  const now = world.server.get(PersistentVolumeClaims, claim.metadata);
  return { came: world.answer, isKept: keptDiskOf(now.metadata) !== null };
}

const gone = (world: World, vm: Stored): void => void world.server.delete(VirtualMachines, vm.metadata);

describe('the label of a kept disk', () => {
  test('goes once the VM of its number uses the disk', async () => {
    expect(await unmarked('root')).toEqual({ came: 'done', isKept: false });
    expect(await unmarked(null, { [STATE_CLAIM_LABEL]: 'web-1' })).toEqual({ came: 'done', isKept: false });
  });

  test('stays while the VM does not use the disk, or is gone', async () => {
    expect(await unmarked(null)).toEqual({ came: 'skipped', isKept: true });
    expect(await unmarked('root', {}, gone)).toEqual({ came: 'skipped', isKept: true });
  });
});
