import { expect, test } from 'vitest';
import { formatAllNotReplaced } from '../../../decisions/healing/format.ts';

test('VMs that are not replaced for the same reason share a sentence', () => {
  const crashing = { message: 'its start has failed', waitsFor: 'one is tried first' };
  expect(
    formatAllNotReplaced([
      { vm: 'web-1', ...crashing },
      { vm: 'web-2', message: 'its start has failed' },
      { vm: 'web-3', ...crashing },
    ]),
  ).toEqual([
    { sentence: 'web-1, web-3 are unhealthy (its start has failed): one is tried first', of: 2 },
    { sentence: 'web-2 is not replaced: its start has failed', of: 1 },
  ]);
});
