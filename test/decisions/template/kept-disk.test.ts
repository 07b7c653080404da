import { expect, test } from 'vitest';
import { KEPT_DISK, POOL_LABEL } from '../../../api/labels-and-annotations.ts';
import { keptDiskMetadata, keptDiskOf } from '../../../decisions/template/kept-disk.ts';
import { aKeptDisk } from '../fixtures/kept-disks.ts';

const kept = aKeptDisk({
  poolUid: 'uid-1',
  number: 3,
  disk: 'data',
  revision: '0123456789',
  template: { metadata: { name: 'data-3' }, spec: { source: { blank: {} } } },
});

test('a labelled claim says whose disk it is, and which', () => {
  const mark = keptDiskMetadata(kept);
  expect(keptDiskOf(mark)).toEqual(kept);
  expect(mark.labels).toEqual({ [POOL_LABEL]: 'web', [KEPT_DISK]: 'uid-1' });
});

test('a claim without the label, or with one that a user has changed, is not a kept disk', () => {
  const { labels, annotations } = keptDiskMetadata(kept);
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
    JSON.stringify({ ...kept, template: 'data' }),
  ]) {
    expect(keptDiskOf({ labels, annotations: { [KEPT_DISK]: text } })).toBeNull();
  }
});
