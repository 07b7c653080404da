import { expect, test } from 'vitest';
import { droverHere } from '../in-process.ts';

test.each([
  [['heal', 'paws', 'pool', 'web'], "unknown command 'paws'; did you mean pause?"],
  [['heal', 'pause', 'pools'], 'which pool? Give its name'],
  [['heal', 'now'], "missing required argument 'kind': pool NAME, or pool/NAME"],
  [['heal', 'now', 'pool'], 'which pool? Give its name'],
  [['heal', 'now', 'pool', 'web'], 'which VMs of pool web? Give their names'],
  [['heal', 'skip', 'pool/web'], 'which VMs of pool web? Give their names'],
  [['heal', 'skip', 'vm', 'web-1'], '"vm" is a VM, and this command takes pool'],
  [
    ['heal', 'skip', 'pool', 'web', 'web_1'],
    '"web_1" is not a valid object name: use lower-case letters, digits, "-" and "."',
  ],
  [
    ['heal', 'pause', 'pool', 'web', '--reason', ' '],
    "option '--reason <words>' argument ' ' is invalid. Give 1 to 1024 characters.",
  ],
])('%j is wrong usage', async (args, sentence) => {
  expect(await droverHere(args)).toMatchObject({ code: 2, stdout: '', stderr: `error: ${sentence}\n` });
});
