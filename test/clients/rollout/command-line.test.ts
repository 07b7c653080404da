import { expect, test } from 'vitest';
import { droverHere } from '../in-process.ts';

test.each([
  [['rollout', 'paws', 'pool', 'web'], "unknown command 'paws'; did you mean pause?"],
  [['rollout', 'pause'], "missing required argument 'kind': pool, or pool/NAME"],
  [['rollout', 'pause', 'pools'], 'which pool? Give its name'],
  [['rollout', 'undo', 'vm/web-1'], '"vm" is a VM, and this command takes pool'],
  [['rollout', 'status', 'vmrs', 'runners'], '"vmrs" is a replica set, and this command takes pool'],
  [
    ['rollout', 'undo', 'pool', 'web', '--to-revison', '3'],
    "unknown option '--to-revison'; did you mean --to-revision?",
  ],
  [['rollout', 'diff', 'pool', 'web', 'db'], 'web db: one pool at a time'],
  [['rollout', 'history', 'pool', 'web', 'db', '--revision', '3'], 'web db: one pool at a time'],
  [
    ['rollout', 'status', 'pool', 'web', '--timeout', '3s'],
    '--timeout is how long --watch waits: give both, or neither',
  ],
  [
    ['rollout', 'pause', 'pool', 'web', '--reason', ' '],
    "option '--reason <words>' argument ' ' is invalid. Give 1 to 1024 characters.",
  ],
])('%j is wrong usage', async (args, sentence) => {
  expect(await droverHere(args)).toMatchObject({ code: 2, stdout: '', stderr: `error: ${sentence}\n` });
});
