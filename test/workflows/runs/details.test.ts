import { expect, test } from 'vitest';
import { type TransitionProgress, transitionOutline } from '../../../decisions/machine-types/transition.ts';
import { powerOutline, type PowerProgress } from '../../../decisions/power/progress.ts';
import { runDetails } from '../../../workflows/runs/details.ts';
import { aTransition } from '../../decisions/machine-types/snapshots.ts';

const progress: TransitionProgress = {
  action: 'MachineType',
  phase: 'Changing',
  transition: aTransition({ maxRestarts: '5%', requestedBy: 'ada', reason: 'rhel8 goes' }),
  results: [
    {
      from: 'pc-q35-rhel8.6.0',
      wanted: null,
      architecture: 'amd64',
      preference: null,
      to: 'q35',
      vms: 12,
      fault: null,
    },
  ],
  counts: { toPatch: 1, toRestart: 2, waiting: 3, inPools: 4, deferred: 5, restarting: 6, excluded: 7, done: 8 },
  patched: 30,
  restarted: 9,
  failed: [{ vm: 'shop/web', message: 'not ready in time' }],
  failures: 1,
  inProgress: ['shop/vm-1', 'shop/vm-2'],
  skipped: [{ message: 'it is paused', isExcluded: false, count: 5, vms: ['shop/vm-7'] }],
  full: ['2 at a time'],
  maxRestarts: 2,
  paused: null,
  aborted: { by: 'eve', at: '2026-01-02T03:04:05Z', reason: null },
  startedAt: '2026-01-02T03:04:05Z',
};

const transitionDetails = (fields: Partial<TransitionProgress> = {}): string => {
  const now = { ...progress, ...fields };
  return runDetails(now, transitionOutline(now));
};

test('the details begin with what a user looks for, and end with what does not change', () => {
  expect(transitionDetails().split('\n\n')).toEqual([
    '**Changing**: 8/30 done, 6 in progress, 1 to change, 2 to restart, 3 waiting until their VMIs run, 4 rolled by their pools, 5 deferred, 7 excluded, 1 failed',
    'aborted by eve',
    'shop/web failed: not ready in time',
    'in progress: shop/vm-1, shop/vm-2',
    'the others wait: 2 at a time',
    'deferred: shop/vm-7 and 4 more: it is paused',
    String.raw`\*rhel8.\* to the default, VMIs restarted by drover, 2 at a time; requested by ada: rhel8 goes`,
    'pc-q35-rhel8.6.0 becomes q35 (12 VMs)',
  ]);
});

test('the details say that too many failures have ended a run, and nothing like it if nothing is left to be done', () => {
  const ended = '21 VMs are not done: too many have failed (--max-failures 0)';
  const all = { phase: 'Failed' as const, aborted: null };
  expect(transitionDetails(all)).toContain(ended);
  expect(transitionDetails({ ...all, phase: 'Changing' })).not.toContain('not done');
  const counts = { toPatch: 0, toRestart: 0, waiting: 0, inPools: 0, deferred: 0, restarting: 0, excluded: 7, done: 8 };
  expect(transitionDetails({ ...all, counts })).not.toContain('not done');
});

test('the details stay short, whatever the number of kinds of VMs', () => {
  const results = Array.from({ length: 300 }, (_, index) => ({
    ...progress.results[0]!,
    preference: `VirtualMachinePreference/shop/${index}`,
  }));
  const text = transitionDetails({ results });
  expect(text.match(/becomes q35/g)).toHaveLength(20);
  expect(text).toContain('and 280 more kinds of VMs');
});

test('the words of users and servers are shown as they were written', () => {
  const power: PowerProgress = {
    action: 'Restart',
    phase: 'Paused',
    chosen: 3,
    atOnce: 1,
    maxFailures: 0,
    needs: {},
    requestedBy: 'ada_b',
    reason: '# new\n*kernel*',
    done: 1,
    failures: 1,
    wereDown: 0,
    failed: [{ vm: 'shop/b', message: 'no <node>' }],
    inProgress: [],
    open: 1,
    skipped: [{ message: 'it is [paused]', isExcluded: false, count: 1, vms: ['shop/c'] }],
    full: ['1 of at most 1 | pool web'],
    paused: { by: 'bob', at: '2026-01-02T03:04:05Z', reason: 'a `look`' },
    aborted: null,
  };
  expect(runDetails(power, powerOutline(power)).split('\n\n')).toEqual([
    '**Paused**: 1/3 restarted, 1 to go, 1 failed',
    'paused by bob: a \\`look\\`',
    String.raw`shop/b failed: no \<node\>`,
    String.raw`the others wait: 1 of at most 1 \| pool web`,
    String.raw`deferred: shop/c: it is \[paused\]`,
    String.raw`Restart of 3 VMs, 1 at a time; requested by ada\_b: \# new \*kernel\*`,
  ]);
});
