import { expect, test } from 'vitest';
import { KEPT_DISK, POOL_LABEL } from '../../../api/names.ts';
import { isKeptFor, keptDiskMark, keptDiskOf, type KeptDisk } from '../../../decisions/disks/kept-disk.ts';

const kept: KeptDisk = {
  pool: 'web',
  poolUid: 'uid-1',
  number: 3,
  disk: 'data',
  revision: '0123456789',
  identity: 'abcdef0123',
  size: '10Gi',
  keptBy: 'scale-in',
  keptAt: '2026-01-01T00:00:00.000Z',
};

test('a marked claim says whose disk it is, and which', () => {
  const mark = keptDiskMark(kept);
  expect(keptDiskOf(mark)).toEqual(kept);
  expect(mark.labels).toEqual({ [POOL_LABEL]: 'web', [KEPT_DISK]: 'uid-1' });
});

test('a disk is kept for one number of one pool, and for no later pool of that name', () => {
  const mark = keptDiskMark(kept);
  expect(isKeptFor(mark, 'uid-1', 3)).toBe(true);
  expect(isKeptFor(mark, 'uid-1', 4)).toBe(false);
  expect(isKeptFor(mark, 'uid-2', 3)).toBe(false);
});

test('a claim without the mark, or with one that somebody has changed, is no kept disk', () => {
  const { labels, annotations } = keptDiskMark(kept);
  expect(keptDiskOf({})).toBeNull();
  expect(keptDiskOf({ annotations })).toBeNull();
  expect(keptDiskOf({ labels })).toBeNull();
  expect(keptDiskOf({ labels: { [KEPT_DISK]: 'uid-2' }, annotations })).toBeNull();
  for (const text of [
    '',
    'null',
    '[]',
    '{',
    '{"poolUid":"uid-1"}',
    JSON.stringify({ ...kept, number: '3' }),
    JSON.stringify({ ...kept, keptBy: 'x' }),
  ]) {
    expect(keptDiskOf({ labels, annotations: { [KEPT_DISK]: text } })).toBeNull();
  }
});
