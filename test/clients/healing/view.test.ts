import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import type { Stored } from '../../../api/objects.ts';
import type { Condition, HealingStatus } from '../../../api/pool/pool.ts';
import { healLines } from '../../../clients/healing/lines.ts';
import { healView } from '../../../clients/healing/view.ts';
import type { Pool } from '../../../decisions/views/pool.ts';
import { condition, cycle, healingPool, finished } from './pools.ts';

const NOW = Date.parse('2026-01-01T00:10:00Z');
const linesOf = (pool: Stored<Pool>): string[] => healLines(healView(pool), NOW).map(stripVTControlCharacters);

const notSuspended = condition('HealingSuspended', 'False', 'NotSuspended');
const nothing = condition('Healing', 'False', 'NothingToHeal');
const by = { by: 'ada', at: '2026-01-01T00:05:00Z', reason: 'lunch' };

test.each<[string, Partial<HealingStatus> | undefined, Condition[], object, string[]]>([
  ['nothing is sick', {}, [nothing, notSuspended], {}, ['NothingToHeal: no VM is unhealthy']],
  [
    'a VM was given up',
    { finished: [finished({ end: 'GivenUp' })] },
    [nothing],
    {},
    ['NothingToHeal: no VM is unhealthy; 1 VM given up or skipped: `drover heal now pool web web-1` heals it again'],
  ],
  [
    'the pool heals none',
    undefined,
    [],
    { autohealing: undefined },
    ['Off: the pool has no spec.autohealing: VMs that fail are not replaced'],
  ],
  ['drover has not seen the pool', undefined, [], {}, ['Pending: drover has not looked at the newest spec yet']],
  [
    'sick VMs wait',
    { notReplaced: [{ vm: 'web-1', message: 'x', waitsFor: 'as many as may be are healed' }] },
    [condition('Healing', 'False', 'Waiting', 'web-1 is unhealthy (x): as many as may be are healed')],
    {},
    ['Waiting: unhealthy VMs are not replaced', 'web-1 is unhealthy (x): as many as may be are healed'],
  ],
  [
    'a person has paused it',
    { paused: by },
    [nothing, condition('HealingSuspended', 'True', 'PausedByUser', 'by ada: lunch')],
    {},
    ['NothingToHeal: no VM is unhealthy', 'paused by ada 5m ago: lunch'],
  ],
  [
    'too many are unhealthy',
    {},
    [nothing, condition('HealingSuspended', 'True', 'TooManyUnhealthy', '5 of 10 are')],
    {},
    ['NothingToHeal: no VM is unhealthy', 'suspended, TooManyUnhealthy: 5 of 10 are'],
  ],
])('the view says so if %s', (_what, healing, conditions, spec, lines) => {
  expect(linesOf(healingPool({ healing, conditions, spec })).slice(0, lines.length)).toEqual(lines);
});

test('a spec that drover has not seen says nothing yet', () =>
  expect(healView(healingPool({ healing: {}, conditions: [nothing], generation: 3 })).phase).toBe('Pending'));

test('cycles and finished ones are tables', () => {
  const cycles = [
    cycle({ vm: 'web-2', attempt: 3, phase: 'Waiting', nextAt: '2026-01-01T00:14:00Z', message: 'CrashLoopBackOff' }),
    cycle({ vm: 'web-4', phase: 'Waiting', nextAt: '2026-01-01T00:09:00Z' }),
    cycle({ vm: 'web-7' }),
  ];
  const ended = [
    finished({ vm: 'web-9', end: 'GivenUp', attempts: 5, at: '2026-01-01T00:09:00Z', message: 'no luck' }),
    finished({ vm: 'web-8' }),
  ];
  const lines = linesOf(
    healingPool({
      healing: { cycles, finished: ended },
      conditions: [condition('Healing', 'True', 'ReplacingVms', 'whatever')],
    }),
  );
  expect(lines.map((line) => line.split(/ {2,}/))).toEqual([
    [
      'ReplacingVms: 3 VMs are being replaced; 1 VM given up or skipped: `drover heal now pool web web-9` heals it again',
    ],
    [''],
    ['VM', 'ATTEMPT', 'PHASE', 'NEXT TRY', 'SINCE', 'WHY'],
    ['web-2', '3', 'Waiting', 'in 4m (2026-01-01T00:14:00Z)', '10m', 'CrashLoopBackOff'],
    ['web-4', '1', 'Waiting', 'now (2026-01-01T00:09:00Z)', '10m', 'sick'],
    ['web-7', '1', 'Removing', '<none>', '10m', 'sick'],
    [''],
    ['ENDED', 'REPLACEMENTS', 'END', 'WHEN', 'WHY'],
    ['web-8', '1', 'Healed', '9m ago', 'sick'],
    ['web-9', '5', 'GivenUp', '60s ago', 'no luck'],
  ]);
});

test('the newest 20 finished cycles are shown, and the fact that there are more', () => {
  const many = Array.from({ length: 23 }, (_, index) =>
    finished({ vm: `web-${index}`, at: new Date(NOW - index * 1000).toISOString() }),
  );
  const lines = linesOf(healingPool({ healing: { finished: many }, conditions: [nothing] }));
  expect(lines.at(-1)).toBe('3 older ones: -o json');
  expect(lines.at(-2)).toMatch(/^web-0 /);
  expect(lines.some((line) => line.startsWith('web-20 '))).toBe(false);
});

test('VMs that wait have a line each, and the number of the others is reported', () => {
  const notReplaced = [
    { vm: 'web-1', message: 'x', waitsFor: 'later' },
    { vm: 'web-2', message: 'its node is away' },
  ];
  const lines = linesOf(
    healingPool({ healing: { notReplaced, notListed: 3 }, conditions: [condition('Healing', 'False', 'Waiting', '')] }),
  );
  expect(lines.slice(1)).toEqual([
    'web-1 is unhealthy (x): later',
    'web-2 is not replaced: its node is away',
    'and 3 more',
  ]);
});
