import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { OPERATION_REASONS } from '../../api/operations/reasons.ts';
import { CONDITION_REASONS, EVENT_REASONS } from '../../api/reasons.ts';
import { SCHEDULE_REASONS } from '../../api/schedules/reasons.ts';

const docs = ['pools', 'replica-sets', 'operations']
  .map((name) => readFileSync(resolve(import.meta.dirname, `../../docs/${name}.md`), 'utf8'))
  .join('\n');
const rowsOf = (condition: string): string =>
  docs
    .split('\n')
    .filter((line) => line.startsWith(`| \`${condition}\` |`))
    .join('\n');

test.each([CONDITION_REASONS, OPERATION_REASONS, SCHEDULE_REASONS].flatMap((reasons) => Object.entries(reasons)))(
  'the docs name the reasons of %s',
  (condition, reasons) => {
    // Reasons without a description say that there is nothing to say.
    const worthy = Object.entries(reasons as Record<string, string>).filter(
      ([reason, what]) => what !== '' && reason !== condition,
    );
    const missing = worthy.map(([reason]) => reason).filter((reason) => !rowsOf(condition).includes(`\`${reason}\``));
    expect(missing).toEqual([]);
  },
);

test('the docs name all Events', () => {
  expect(Object.keys(EVENT_REASONS).filter((reason) => !docs.includes(`\`${reason}\``))).toEqual([]);
});
