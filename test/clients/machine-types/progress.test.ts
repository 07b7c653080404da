import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { exclusions, runLines, shortfalls } from '../../../clients/runs/run-lines.ts';
import { NO_COUNTS, type TransitionProgress, transitionOutline } from '../../../decisions/machine-types/transition.ts';
import { outlinedTransition } from '../../../decisions/operations/action-report.ts';
import { aTransition, scopeOf } from '../../decisions/machine-types/snapshots.ts';

const ID = 'shop/machine-types-x7k2p';
const scope = scopeOf();
const transition = aTransition({ restartNow: false, maxRestarts: '5%', requestedBy: 'ada@desk' });
const progress = (
  fields: Partial<Omit<TransitionProgress, 'counts'>> & { counts?: Partial<TransitionProgress['counts']> } = {},
): TransitionProgress => ({
  action: 'MachineType',
  phase: 'Changing',
  transition,
  results: [],
  patched: 0,
  restarted: 0,
  failed: [],
  failures: 0,
  inProgress: [],
  skipped: [],
  full: [],
  maxRestarts: 1,
  paused: null,
  aborted: null,
  startedAt: '2026-01-01T00:00:00Z',
  ...fields,
  counts: { ...NO_COUNTS, ...fields.counts },
});
const NOW = Date.parse('2026-01-01T00:03:00Z');
const linesOf = (...fields: Parameters<typeof progress>): string[] => {
  const told = progress(...fields);
  const shown = { progress: told, outline: transitionOutline(told), sentence: '' };
  return runLines(ID, shown, NOW).map(stripVTControlCharacters);
};
const endOf = (...fields: Parameters<typeof progress>): string => transitionOutline(progress(...fields)).end;
const shortfallsOf = (...fields: Parameters<typeof progress>): string[] => {
  const now = progress(...fields);
  return shortfalls(now, transitionOutline(now)).map(({ message }) => message);
};

const group = { wanted: null, architecture: null, preference: null };
const exempt = { message: 'its owner opted out of disruption', isExcluded: true, count: 1, vms: ['shop/vm-6'] };
const later = { message: 'it is paused', isExcluded: false, count: 150, vms: ['shop/vm-7', 'shop/vm-8'] };

describe('the progress of a transition', () => {
  test('has no numbers that are not known yet while it checks', () => {
    expect(linesOf({ phase: 'Checking' })).toEqual([
      expect.stringMatching(/^shop\/machine-types-x7k2p {2}░{20} Checking$/),
      '  *rhel8.* to the default, VMIs restarted by their owners; requested by ada@desk',
    ]);
  });

  test('has each number that is not zero, and the total', () => {
    const [head] = linesOf({
      counts: { toPatch: 5, toRestart: 4, waiting: 3, inPools: 2, deferred: 6, restarting: 1, excluded: 7, done: 8 },
      failures: 9,
    });
    const counted =
      '1 in progress, 5 to change, 4 to restart, 3 waiting for a restart by their owners, 2 rolled by their pools, 6 deferred, 7 excluded, 9 failed';
    expect(head).toMatch(new RegExp(`^${ID} {2}\\S+ 8/38 done, ${counted}: Changing$`));
    expect(linesOf({ phase: 'Complete', counts: { done: 3 } })[0]).toMatch(/█{20} 3\/3 done: Complete$/);
  });

  test('names no owners that have to act if drover restarts VMIs', () => {
    const restarts = { transition: { ...transition, restartNow: true }, counts: { waiting: 3 } };
    expect(linesOf(restarts)[0]).toContain('0/3 done, 3 waiting until their VMIs run: ');
    expect(endOf(restarts)).toBe('0 of 3 VMs done: 0 changed by drover; 3 waiting until their VMIs run');
  });

  test('has what it does, for whom, and why', () => {
    const asked = { ...transition, to: 'pc-q35-rhel9.2.0', restartNow: true, reason: 'RHEL 10' };
    expect(linesOf({ transition: asked }).at(-1)).toBe(
      '  *rhel8.* to pc-q35-rhel9.2.0, VMIs restarted by drover, 1 at a time; requested by ada@desk: RHEL 10',
    );
    const unknown = outlinedTransition(asked, 'Changing', undefined, undefined);
    expect(transitionOutline(unknown).about).toEqual([
      '*rhel8.* to pc-q35-rhel9.2.0, VMIs restarted by drover; requested by ada@desk: RHEL 10',
    ]);
    expect(linesOf({ transition: { ...transition, scope: { ...scope, undoes: '0a0a0a0a' } } }).at(-1)).toContain(
      '  undo of 0a0a0a0a, VMIs',
    );
  });

  test('has what holds it, what it skips, and what failed', () => {
    const by = { by: 'bob', at: '2026-01-01T00:00:00Z' };
    expect(
      linesOf({
        phase: 'Paused',
        results: [
          { ...group, from: 'pc-q35-rhel8.2.0', to: 'pc-q35-rhel8.6.0', vms: 1, fault: 'still matches *rhel8.*' },
          { ...group, from: 'pc-q35-rhel8.4.0', to: 'pc-q35-rhel9.2.0', vms: 4, fault: null },
        ],
        paused: { ...by, reason: 'lunch' },
        aborted: { ...by, reason: null },
        inProgress: ['shop/vm-3', 'shop/vm-4'],
        full: ['2 at a time', 'the window opens at 2026-01-02T02:00:00Z'],
        skipped: [exempt, later],
        failed: [{ vm: 'shop/vm-9', message: 'it came back\u001B[2J with pc-q35-rhel8.2.0' }],
        failures: 1,
      }).slice(1),
    ).toEqual([
      '  paused by bob 3m ago: lunch',
      '  aborted by bob 3m ago',
      '  1 VM with pc-q35-rhel8.2.0 would get pc-q35-rhel8.6.0: still matches *rhel8.*',
      '  shop/vm-9 failed: it came back [2J with pc-q35-rhel8.2.0',
      '  in progress: shop/vm-3, shop/vm-4',
      '  the others wait: 2 at a time, the window opens at 2026-01-02T02:00:00Z',
      '  excluded: shop/vm-6: its owner opted out of disruption',
      '  deferred: shop/vm-7, shop/vm-8 and 148 more: it is paused',
      '  *rhel8.* to the default, VMIs restarted by their owners; requested by ada@desk',
      '  pc-q35-rhel8.4.0 becomes pc-q35-rhel9.2.0 (4 VMs)',
    ]);
  });
});

test('the progress of a transition that failures have ended says what is left', () => {
  expect(linesOf({ phase: 'Failed', failed: [], counts: { done: 1, toRestart: 3 } }).slice(1, -1)).toEqual([
    '  3 VMs are not done: too many have failed (--max-failures 0)',
  ]);
  expect(linesOf({ phase: 'Failed', counts: { done: 1 } }).slice(1, -1)).toEqual([]);
});

test('the progress of a transition that is over no longer says what held it', () => {
  const paused = { by: 'bob', at: '2026-01-01T00:00:00Z', reason: null };
  expect(linesOf({ phase: 'Aborted', paused, aborted: paused, full: ['2 at a time'] }).slice(1, -1)).toEqual([
    '  aborted by bob 3m ago',
  ]);
});

describe('the end of a transition', () => {
  test('is a sentence, with what the transition still waits for', () => {
    expect(endOf({ phase: 'Complete', patched: 1, counts: { done: 1, excluded: 2 } })).toBe(
      '1 of 1 VM done: 1 changed by drover',
    );
    expect(endOf({ phase: 'Failed', patched: 12, restarted: 8, counts: { done: 11, toRestart: 1 }, failures: 1 })).toBe(
      '11 of 13 VMs done: 12 changed, 8 restarted by drover; 1 to restart',
    );
    expect(endOf({ phase: 'Waiting', patched: 12, counts: { done: 3, waiting: 9, inPools: 2, deferred: 1 } })).toBe(
      '3 of 15 VMs done: 12 changed by drover; 9 waiting for a restart by their owners, 2 rolled by their pools, 1 deferred',
    );
  });

  test('reports no shortfall if all VMs are done, waited for or excluded', () => {
    expect(shortfallsOf({ phase: 'Complete', skipped: [exempt], counts: { excluded: 1 } })).toEqual([]);
    expect(shortfallsOf({ phase: 'Waiting', skipped: [later], counts: { waiting: 9, deferred: 1 } })).toEqual([]);
    expect(
      shortfallsOf({ phase: 'Aborted', aborted: { by: 'bob', at: '', reason: null }, counts: { done: 2 } }),
    ).toEqual([]);
    expect(exclusions(progress({ skipped: [exempt, later] }))).toEqual([
      'excluded: shop/vm-6: its owner opted out of disruption',
    ]);
  });

  const failedRestart = { vm: 'shop/vm-3', message: 'not ready in time' };
  test.each<[string, Parameters<typeof progress>[0], string[]]>([
    [
      'aborted',
      { phase: 'Aborted', aborted: { by: 'bob', at: '', reason: 'no' }, counts: { toPatch: 3, waiting: 1 } },
      ['4 VMs are not done: the run was aborted by bob: no'],
    ],
    [
      'too many failures',
      { phase: 'Failed', failed: [failedRestart], failures: 1, counts: { toRestart: 1 } },
      ['shop/vm-3 failed: not ready in time', '1 VM is not done: too many have failed (--max-failures 0)'],
    ],
    [
      'failures while it waits',
      { phase: 'Waiting', failed: [failedRestart], failures: 1, counts: { waiting: 1 } },
      ['shop/vm-3 failed: not ready in time'],
    ],
  ])('%s is a shortfall', (_words, fields, sentences) => {
    expect(shortfallsOf(fields)).toEqual(sentences);
  });

  test('many failures are counted', () => {
    const failed = Array.from({ length: 250 }, (_, index) => ({ vm: `shop/vm-${index + 1}`, message: 'no' }));
    const sentences = shortfallsOf({ phase: 'Failed', failed, failures: 300 });
    expect(sentences).toHaveLength(21);
    expect(sentences.at(-1)).toBe('280 more VMs failed');
  });
});
