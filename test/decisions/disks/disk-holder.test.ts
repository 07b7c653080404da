import { expect, test } from 'vitest';
import { poolsOfSameDisks, whyDiskIsHeld, type HolderInput } from '../../../decisions/disks/disk-holder.ts';
import { keptDiskMark } from '../../../decisions/disks/kept-disk.ts';
import { aPool } from '../fixtures/fleets.ts';

const why = (found: Partial<HolderInput>) =>
  whyDiskIsHeld({
    name: 'root-2',
    vm: 'web-2',
    number: 2,
    poolUid: 'pool-uid',
    dataVolume: undefined,
    claim: undefined,
    ...found,
  });
const owned = (kind: string, name: string) => ({ metadata: { ownerReferences: [{ kind, name }] } });
const claimOfVolume = owned('DataVolume', 'root-2');
const kept = (poolUid: string, number: number) => ({
  metadata: keptDiskMark({
    pool: 'web',
    poolUid,
    number,
    disk: 'root',
    revision: null,
    identity: '',
    size: null,
    keptBy: 'scale-in',
    keptAt: '2026-01-01T00:00:00Z',
  }),
});

test("a disk that is still to be made, or was the VM's before, is free", () => {
  expect(why({})).toBeNull();
  expect(why({ dataVolume: owned('VirtualMachine', 'web-2'), claim: claimOfVolume })).toBeNull();
  expect(why({ claim: claimOfVolume })).toBeNull();
});

test('a disk that was kept for this number of this pool is free, and no other', () => {
  expect(why({ claim: kept('pool-uid', 2) })).toBeNull();
  expect(why({ claim: kept('pool-uid', 3) })).toMatch(/kept for number 3 of this pool/);
  expect(why({ claim: kept('earlier-uid', 2) })).toMatch(/kept for number 2 of an earlier pool web/);
});

test('a disk of somebody else is held, and the words name both', () => {
  expect(why({ dataVolume: owned('VirtualMachine', 'shop-2'), claim: claimOfVolume })).toBe(
    'PersistentVolumeClaim root-2 belongs to VirtualMachine shop-2',
  );
  expect(why({ dataVolume: owned('VirtualMachine', 'shop-2') })).toBe(
    'DataVolume root-2 belongs to VirtualMachine shop-2',
  );
  expect(why({ claim: { metadata: {} } })).toMatch(/was not kept for this VM/);
  expect(why({ dataVolume: { metadata: {} }, claim: claimOfVolume })).toMatch(/was not kept for this VM/);
});

const withDisk = (disk: string, uid: string, namespace = 'shop') =>
  aPool(
    {
      template: {
        spec: {
          runStrategy: 'Always',
          dataVolumeTemplates: [{ metadata: { name: disk }, spec: {} }],
          template: { spec: {} },
        },
      },
    },
    { uid, namespace },
  );

test('two pools of a namespace collide by the names of their disk templates', () => {
  const pool = withDisk('root', 'one');
  const others = [
    pool,
    withDisk('root', 'two'),
    withDisk('data', 'three'),
    withDisk('root', 'four', 'elsewhere'),
    aPool({}, { uid: 'five' }),
  ];
  expect(poolsOfSameDisks(pool, others).map(({ metadata }) => metadata.uid)).toEqual(['two']);
});
