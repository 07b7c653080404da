import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { EVENT_REASONS } from '../../api/reasons.ts';

const PROJECT = join(import.meta.dirname, '../..');
const textOf = (file: string): string => readFileSync(join(PROJECT, file), 'utf8');

/** The rows of the table: state, Event, alert. */
const rows = (): string[][] => {
  const [, section = ''] = textOf('docs/status.md').split('## What needs a person');
  const table = section.split('\n\n').find((part) => part.startsWith('| state |')) ?? '';
  return [...table.matchAll(/^\| (?!state|-)(.+) \|$/gm)].map(([, row = '']) => row.split(' | '));
};

test('each state that waits for a user has the Event and the alert that the docs name', () => {
  const rules = parse(textOf('deploy/monitoring/rules.yaml')) as { groups: { rules: { alert?: string }[] }[] };
  const alerts = rules.groups.flatMap((group) => group.rules.map(({ alert }) => alert));
  expect(rows().length).toBeGreaterThanOrEqual(10);
  for (const [, event = '', alert = ''] of rows()) {
    for (const [, reason] of event.matchAll(/`(\w+)`/g)) expect(Object.keys(EVENT_REASONS)).toContain(reason);
    const named = [...alert.matchAll(/\[(\w+)\]/g)].map(([, name]) => name);
    expect(named).not.toEqual([]);
    for (const name of named) expect(alerts).toContain(name);
  }
});
