import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { CONDITION_REASONS, EVENT_REASONS } from '../../api/reasons.ts';

const docs = readFileSync(resolve(import.meta.dirname, '../../docs/pools.md'), 'utf8');
const rowOf = (condition: string): string =>
  docs.split('\n').find((line) => line.startsWith(`| \`${condition}\` |`)) ?? '';

test.each(Object.entries(CONDITION_REASONS))('docs/pools.md names the reasons of %s', (condition, reasons) => {
  // Reasons without a description say that there is nothing to say.
  const worthy = Object.entries(reasons).filter(([reason, what]) => what !== '' && reason !== condition);
  const missing = worthy.map(([reason]) => reason).filter((reason) => !rowOf(condition).includes(`\`${reason}\``));
  expect(missing).toEqual([]);
});

test('docs/pools.md names all Events', () => {
  expect(Object.keys(EVENT_REASONS).filter((reason) => !docs.includes(`\`${reason}\``))).toEqual([]);
});
