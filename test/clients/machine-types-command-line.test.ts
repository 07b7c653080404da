import { expect, test } from 'vitest';
import { drover } from './drover.ts';

test.each([
  [['undo'], "missing required argument 'id'"],
  [['status', '--watch', '-o', 'json'], "option '-o, --output <format>' cannot be used with option '-w, --watch'"],
  [['report', '-o', 'yaml'], "option '-o, --output <format>' argument 'yaml' is invalid. Allowed choices are json, csv."],
  [['abort', '--reason', ' '], "option '--reason <words>' argument ' ' is invalid. Give 1 to 1024 characters."],
])('machine-types %s is wrong usage', async (words, sentence) => {
  const { code, stdout, stderr } = await drover(['machine-types', ...words]);
  expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: '', stderr: `error: ${sentence}\n` });
});

test.each([
  [['history', 'vm', 'a', 'b'], 'a b: one vm at a time'],
  [['history', 'vm', 'a', '--vm', 'b'], '--vm chooses among the VMs of a pool'],
])('%s is wrong usage', async (words, sentence) => {
  expect(await drover(words)).toMatchObject({ code: 2, stdout: '', stderr: `error: ${sentence}\n` });
});
