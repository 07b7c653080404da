import { expect, test } from 'vitest';
import { whyDiskIsHeld, type HolderInput } from '../../../decisions/disks/disk-conflict.ts';
import { keptDiskMetadata } from '../../../decisions/template/kept-disk.ts';
import { aKeptDisk } from '../fixtures/kept-disks.ts';

const heldBy = (found: Partial<HolderInput>, number: number | null = 2) =>
  whyDiskIsHeld({
    name: 'root-2',
    vm: { name: 'web-2', uid: 'uid-of-web-2' },
    pool: number === null ? null : { uid: 'pool-uid', number },
    dataVolume: undefined,
    claim: undefined,
    users: [],
    ...found,
  });
const why = (found: Partial<HolderInput>) => heldBy(found)?.message ?? null;
const owned = (kind: string, name: string, uid = `uid-of-${name}`) => ({
  metadata: { ownerReferences: [{ kind, name, uid }] },
});
const claimOfVolume = owned('DataVolume', 'root-2');
const kept = (poolUid: string, number: number) => ({
  metadata: keptDiskMetadata(aKeptDisk({ poolUid, number })),
});

test("a disk that is still to be made, or is the VM's own, is free", () => {
  expect(why({})).toBeNull();
  expect(why({ vm: { name: 'web-2', uid: null } })).toBeNull();
  expect(why({ dataVolume: owned('VirtualMachine', 'web-2'), claim: claimOfVolume })).toBeNull();
  const own = [{ kind: 'VirtualMachineInstance', name: 'web-2' }];
  expect(why({ dataVolume: owned('VirtualMachine', 'web-2'), claim: claimOfVolume, users: own })).toBeNull();
});

test('a disk is free if it was kept for this number of this pool, and for no other', () => {
  expect(why({ claim: kept('pool-uid', 2) })).toBeNull();
  expect(why({ claim: kept('pool-uid', 3) })).toMatch(/kept for number 3 of this pool/);
  expect(why({ claim: kept('earlier-uid', 2) })).toMatch(/kept for number 2 of an earlier pool web/);
  expect(heldBy({ claim: kept('pool-uid', 2) }, null)?.message).toMatch(/kept for number 2/);
});

test('a disk of another owner is held, and the message names both', () => {
  expect(why({ dataVolume: owned('VirtualMachine', 'shop-2'), claim: claimOfVolume })).toBe(
    'PersistentVolumeClaim root-2 belongs to VirtualMachine shop-2',
  );
  expect(why({ dataVolume: owned('VirtualMachine', 'shop-2') })).toBe(
    'DataVolume root-2 belongs to VirtualMachine shop-2',
  );
  expect(why({ claim: { metadata: {} } })).toMatch(/was not kept for this VM/);
  expect(why({ dataVolume: { metadata: {} }, claim: claimOfVolume })).toMatch(/was not kept for this VM/);
});

test('a disk that another VM or VMI uses is held, though nothing owns it', () => {
  const users = [{ kind: 'VirtualMachineInstance', name: 'rescue' }];
  expect(heldBy({ claim: kept('pool-uid', 2), users })).toEqual({
    message: 'PersistentVolumeClaim root-2 is used by VirtualMachineInstance rescue',
    passes: false,
  });
  expect(why({ users })).toMatch(/is used by VirtualMachineInstance rescue/);
});

test('a disk that leaves with an earlier VM of the name, or is terminating, is held until it is gone', () => {
  for (const uid of [null, 'uid-of-a-later-one'])
    expect(
      heldBy({ vm: { name: 'web-2', uid }, dataVolume: owned('VirtualMachine', 'web-2'), claim: claimOfVolume }),
    ).toEqual({
      message: 'PersistentVolumeClaim root-2 is still to be deleted with an earlier VirtualMachine web-2',
      passes: true,
    });
  expect(heldBy({ claim: claimOfVolume })).toMatchObject({ passes: true });
  const { metadata } = kept('pool-uid', 2);
  expect(heldBy({ claim: { metadata: { ...metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } } })).toEqual({
    message: 'PersistentVolumeClaim root-2 is being deleted',
    passes: true,
  });
});
