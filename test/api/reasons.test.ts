import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { BUDGET_REASONS } from '../../api/budgets/reasons.ts';
import { OPERATION_REASONS } from '../../api/operations/reasons.ts';
import { CONDITION_REASONS, EVENT_REASONS } from '../../api/reasons.ts';
import { SCHEDULE_REASONS } from '../../api/schedules/reasons.ts';
import { ACT_ENDS } from '../../decisions/history/ends.ts';

const docs = ['status', 'replica-sets', 'operations', 'budgets']
  .map((name) => readFileSync(resolve(import.meta.dirname, `../../docs/${name}.md`), 'utf8'))
  .join('\n');
const rowsOf = (condition: string): string =>
  docs
    .split('\n')
    .filter((line) => line.startsWith(`| \`${condition}\` |`))
    .join('\n');

test.each(
  [CONDITION_REASONS, OPERATION_REASONS, SCHEDULE_REASONS, BUDGET_REASONS].flatMap((reasons) =>
    Object.entries(reasons),
  ),
)('the docs name the reasons of %s', (condition, reasons) => {
  // Reasons without a description say that there is nothing to say.
  const worthy = Object.entries(reasons as Record<string, string>).filter(
    ([reason, what]) => what !== '' && reason !== condition,
  );
  const missing = worthy.map(([reason]) => reason).filter((reason) => !rowsOf(condition).includes(`\`${reason}\``));
  expect(missing).toEqual([]);
});

test('the docs name all Events', () => {
  expect(Object.keys(EVENT_REASONS).filter((reason) => !docs.includes(`\`${reason}\``))).toEqual([]);
});

/** The part of the page that is about something, such as pools. */
const troubleshooting = readFileSync(resolve(import.meta.dirname, '../../docs/troubleshooting.md'), 'utf8');
const partOf = (title: string): string =>
  troubleshooting.split(/^## /m).find((part) => part.toLowerCase().startsWith(title)) ?? '';

test.each([
  ['conditions of pools', CONDITION_REASONS],
  ['conditions of operations', OPERATION_REASONS],
  ['conditions of schedules', SCHEDULE_REASONS],
  ['conditions of budgets', BUDGET_REASONS],
])('docs/troubleshooting.md says for each reason among the %s what to do', (title, conditions) => {
  const reasons = Object.values(conditions).flatMap((some) => Object.keys(some));
  expect(reasons.filter((reason) => !partOf(title).includes(`\`${reason}\``))).toEqual([]);
});

test('docs/troubleshooting.md names each Event, and nothing that is no reason', () => {
  const events = Object.keys(EVENT_REASONS);
  expect(events.filter((reason) => !partOf('events').includes(`\`${reason}\``))).toEqual([]);
  const conditions = [CONDITION_REASONS, OPERATION_REASONS, SCHEDULE_REASONS, BUDGET_REASONS].flatMap((all) =>
    Object.entries(all),
  );
  const known = new Set([
    ...events,
    ...conditions.flatMap(([condition, reasons]) => [condition, ...Object.keys(reasons)]),
  ]);
  const cells = [...troubleshooting.matchAll(/^\| (`[A-Z][^|]*) \|/gm)].flatMap(
    ([, cell]) => cell!.match(/`(\w+)`/g) ?? [],
  );
  expect(cells.map((cell) => cell.slice(1, -1)).filter((reason) => !known.has(reason))).toEqual([]);
});

test('docs/ name how acts end', () => {
  const missing = Object.entries(ACT_ENDS).filter(([end, { what }]) => !docs.includes(`\n| \`${end}\` | ${what} |\n`));
  expect(missing).toEqual([]);
});
