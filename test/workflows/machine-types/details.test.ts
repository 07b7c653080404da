import { expect, test } from 'vitest';
import type { TransitionProgress } from '../../../decisions/machine-types/transition.ts';
import { transitionDetails } from '../../../workflows/machine-types/details.ts';

const progress: TransitionProgress = {
  id: '0a1b2c3d',
  phase: 'Changing',
  transition: {
    scope: {
      glob: '*rhel8.*',
      namespaces: null,
      labelSelector: null,
      names: [],
      exclude: [],
      only: null,
      undoes: null,
    },
    to: null,
    restartNow: true,
    maxRestarts: '5%',
    maxFailures: 0,
    deadlineMs: 600_000,
    windows: [],
    force: false,
    requestedBy: 'ada',
    reason: 'rhel8 goes',
  },
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
  failed: [{ vm: 'shop/web', why: 'not ready in time' }],
  failures: 1,
  inProgress: ['shop/vm-1', 'shop/vm-2'],
  skipped: [{ why: 'it is paused', isExcluded: false, count: 5, vms: ['shop/vm-7'] }],
  full: ['2 at a time'],
  maxRestarts: 2,
  paused: null,
  aborted: { by: 'eve', at: '2026-01-02T03:04:05Z', why: null },
  startedAt: '2026-01-02T03:04:05Z',
};

test('what the Web UI shows: the counts first, who asked, and what went wrong before what is only waited for', () => {
  const text = transitionDetails(progress);
  expect(text).toContain(
    "**Changing**: machine types like `*rhel8.*`, to the cluster's default; 30 VMs changed and 9 restarted by drover",
  );
  expect(text).toContain('| 1 | 2 | 6 | 3 | 4 | 5 | 7 | 8 |');
  expect(text).toContain('Asked for by ada: rhel8 goes; restarts, 2 at a time');
  expect(text).toContain('Aborted by eve');
  expect(text).toContain('- deferred: shop/vm-7 and 4 more: it is paused');
  expect(text).toContain('- pc-q35-rhel8.6.0 becomes q35 (12 VMs)');
  expect(text.indexOf('- failed: shop/web: not ready in time')).toBeLessThan(
    text.indexOf('In progress: shop/vm-1, shop/vm-2'),
  );
});

test('one that too many failures have ended says so, and one with nothing left to be done does not', () => {
  const ended = 'Ended early, with 15 VMs not done: too many have failed (at most 0 restarts may)';
  const all = { ...progress, phase: 'Failed' as const, aborted: null };
  expect(transitionDetails(all)).toContain(ended);
  expect(transitionDetails({ ...all, phase: 'Changing' })).not.toContain('Ended early');
  const counts = { toPatch: 0, toRestart: 0, waiting: 0, inPools: 0, deferred: 0, restarting: 0, excluded: 7, done: 8 };
  expect(transitionDetails({ ...all, counts })).not.toContain('Ended early');
});

test('it stays short, whatever the number of kinds of VMs', () => {
  const results = Array.from({ length: 300 }, (_, index) => ({
    ...progress.results[0]!,
    preference: `VirtualMachinePreference/shop/${index}`,
  }));
  const text = transitionDetails({ ...progress, results });
  expect(text.match(/becomes q35/g)).toHaveLength(20);
  expect(text).toContain('300 kinds of VMs in all');
});

test('an undo says what it undoes, and restarts that are left to the owners are called so', () => {
  const { transition } = progress;
  const text = transitionDetails({
    ...progress,
    transition: { ...transition, restartNow: false, scope: { ...transition.scope, undoes: '4e5f6071' } },
  });
  expect(text).toContain('undoes 4e5f6071');
  expect(text).toContain('restarts are left to the owners');
});

test('what people and servers say is read as they have written it, and no Markdown', () => {
  const { transition } = progress;
  const reason = 'a | b\n# Head `x` *y* [l](http://z) <b>';
  const skipped = [
    { why: 'it still matches *rhel8.*: a preference brings it back', isExcluded: true, count: 1, vms: ['shop/vm-7'] },
  ];
  const text = transitionDetails({
    ...progress,
    skipped,
    transition: { ...transition, reason, scope: { ...transition.scope, glob: 'a`b*' } },
  });
  expect(text).toContain(String.raw`Asked for by ada: a \| b \# Head \`x\` \*y\* \[l\](http://z) \<b\>; restarts`);
  expect(text).toContain(String.raw`it still matches \*rhel8.\*: a preference`);
  expect(text).toContain(String.raw`machine types like a\`b\*, to`);
});

test('what it waits for is a restart only if others restart', () => {
  const { transition } = progress;
  expect(transitionDetails(progress)).toContain('| wait until they run |');
  expect(transitionDetails({ ...progress, transition: { ...transition, restartNow: false } })).toContain(
    '| wait for a restart |',
  );
});
