import { expect, test } from 'vitest';
import type { Stored } from '../../../api/objects.ts';
import { collisionsAmong } from '../../../clients/disks/collisions.ts';
import type { Pool } from '../../../decisions/views/pool.ts';
import { poolWith, templateOf } from '../rollout/pools.ts';

const withDisk = (name: string, disk: string, uid = name): Stored<Pool> => {
  const pool = poolWith({
    spec: { template: templateOf(1, { dataVolumeTemplates: [{ metadata: { name: disk }, spec: {} }] }) },
  });
  return { ...pool, metadata: { ...pool.metadata, name, uid } };
};

test("a pool is reported whose disks would have the names of another's, whether that is stored or applied with it", () => {
  const rule = 'no VM of one is made with, or updated to, a disk of the other';
  const toldOf = (name: string, other: string) =>
    `pool ${name}: pool ${other} of this namespace has a dataVolumeTemplate of the same name: ${rule}`;
  expect(collisionsAmong([withDisk('a', 'root')], [withDisk('b', 'root')])).toEqual([toldOf('a', 'b')]);
  expect(collisionsAmong([withDisk('a', 'root'), withDisk('b', 'root')], [])).toEqual([
    toldOf('a', 'b'),
    toldOf('b', 'a'),
  ]);
});

test('a pool does not collide with itself, whatever UID a dry run gives it, nor with pools with other disks', () => {
  expect(collisionsAmong([withDisk('a', 'root', 'dry-run')], [withDisk('a', 'root'), withDisk('b', 'data')])).toEqual(
    [],
  );
});
