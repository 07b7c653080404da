import { expect, test } from 'vitest';
import { versionsIn } from '../../../decisions/lib/versions-read.ts';

const versions = (...all: string[]): { resourceVersion: string }[] =>
  all.map((resourceVersion) => ({ resourceVersion }));

test('the newest version of each kind is reported, as numbers have it, and none of a kind of which there is nothing', () => {
  const pools = versions('3', '7').map((metadata) => ({ metadata }));
  expect(versionsIn({ pools, vms: versions('99', '100', '9'), vmis: [] })).toEqual({
    pools: '7',
    vms: '100',
    vmis: undefined,
  });
});
