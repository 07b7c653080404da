import { expect, test } from 'vitest';
import { droverHere } from '../in-process.ts';

test.each([
  [
    ['undo'],
    "missing required argument 'operation': name of the operation, as `list` shows it; its UID, if several had that name",
  ],
  [['status', '--watch', '-o', 'json'], "option '-o, --output <format>' cannot be used with option '-w, --watch'"],
  [
    ['report', '-o', 'csv'],
    "option '-o, --output <format>' argument 'csv' is invalid. Allowed choices are json, yaml.",
  ],
  [['abort', '--reason', ' '], "option '--reason <words>' argument ' ' is invalid. Give 1 to 1024 characters."],
  [['status', ''], 'which operation? "" is not the name of one'],
  [['pause', 'pool/web'], '"pool" is a pool, and this command takes vmop or cvmop'],
  [['plan'], "required option '--which-matches-glob <glob>' not specified"],
  [['plan', '--which-matches-glob', '*', '--dry-run'], "unknown option '--dry-run'"],
  [
    ['types', '-n', ''],
    "option '-n, --namespace <name>' argument '' is invalid. Give lower-case letters, digits and -, with a letter or digit at both ends.",
  ],
])('machine-types %j is wrong usage', async (words, sentence) => {
  const { code, stdout, stderr } = await droverHere(['machine-types', ...words]);
  expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: '', stderr: `error: ${sentence}\n` });
});

test.each([
  [['history', 'vm', 'a', 'b'], 'a b: one vm at a time'],
  [['history', 'vm', 'a', '--vm', 'b'], '--vm chooses among the VMs of a pool or replica set'],
  [['operations', 'abort', 'pool/default/shop/web'], '"pool" is a pool, and this command takes vmop or cvmop'],
])('%s is wrong usage', async (words, sentence) => {
  expect(await droverHere(words)).toMatchObject({ code: 2, stdout: '', stderr: `error: ${sentence}\n` });
});
