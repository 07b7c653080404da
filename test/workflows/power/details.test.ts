import { expect, test } from 'vitest';
import type { PowerProgress } from '../../../workflows/messages.ts';
import { powerDetails } from '../../../workflows/power/details.ts';

const progress: PowerProgress = {
  action: 'Restart',
  phase: 'Paused',
  chosen: 3,
  atOnce: 1,
  maxFailures: 0,
  requestedBy: 'ada_b',
  reason: '# new\n*kernel*',
  done: ['shop/a'],
  failed: [{ vm: 'shop/b', why: 'no <node>', wasDown: false }],
  inProgress: [],
  open: 1,
  skipped: [{ why: 'it is [paused]', isExcluded: false, count: 1, vms: ['shop/c'] }],
  full: ['1 of at most 1 | pool web'],
  paused: { by: 'bob', at: '2026-01-02T03:04:05Z', why: 'a `look`' },
  aborted: null,
};

test('words of people and servers are shown as they were written', () => {
  expect(powerDetails(progress).split('\n\n')).toEqual([
    '**Paused**: 1 of 3 VMs restarted, 0 in progress, 1 to go, 1 at a time',
    String.raw`Asked for by ada\_b: \# new \*kernel\*`,
    'Paused by bob: a \\`look\\`',
    String.raw`- failed: shop/b: no \<node\>`,
    String.raw`The others wait for room: 1 of at most 1 \| pool web`,
    String.raw`- skipped: shop/c: it is \[paused\]`,
  ]);
});
