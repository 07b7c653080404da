import { expect, test } from 'vitest';
import { UsageError } from '../../../clients/cli/failure.ts';
import { OWNERS, Pools, Vms } from '../../../clients/cli/kinds.ts';
import { parseCount, parseDuration, parseBoolean } from '../../../clients/cli/parse-values.ts';
import { namedTargetsOf, targetsOf, vmNamesOf } from '../../../clients/cli/targets.ts';
import { VmSets } from '../replica-sets/sets.ts';

test.each([
  [['pools'], Pools, []],
  [['pool', 'web', 'db'], Pools, ['web', 'db']],
  [['VirtualMachinePool', 'web'], Pools, ['web']],
  [['virtualmachinepools.drover.dev', 'web'], Pools, ['web']],
  [['pool/web', 'pools/db'], Pools, ['web', 'db']],
  [['vm/web-1'], Vms, ['web-1']],
  [['vmrs', 'runners'], VmSets, ['runners']],
  [['vmrs/runners'], VmSets, ['runners']],
  [['virtualmachinereplicasets'], VmSets, []],
  [['VirtualMachineReplicaSet/runners'], VmSets, ['runners']],
])('the target %j is understood', (words, kind, names) =>
  expect(targetsOf(words, [...OWNERS, Vms])).toEqual({ kind, names }),
);

test.each([
  [['polls'], /did you mean pools\?/],
  [['virtualmachine pool'], /did you mean virtualmachinepool\?/],
  [['secrets'], /give pool or vm, and then a name/],
  [['vmrs'], /^"vmrs" is a replica set, and this command takes pool or vm$/],
  [['disk/web'], /^"disk" is a kept disk, and this command takes pool or vm$/],
  [['pool/web', 'db'], /KIND\/NAME throughout/],
  [['pool/web', 'vm/web-1'], /one kind/],
  [['pool', 'Web!'], /"Web!" is not a valid object name/],
  [['pool/'], /"" is not a valid object name/],
  [['pool/a/b'], /"a\/b" is not a valid object name/],
])('%j is refused with what would be right', (words, message) => {
  expect(() => targetsOf(words, [Pools, Vms])).toThrow(UsageError);
  expect(() => targetsOf(words, [Pools, Vms])).toThrow(message);
});

test('a word for several kinds is refused with a word for each', () => {
  const other = { ...VmSets, aliases: ['vmirs', 'set'] };
  const kinds = [Pools, { ...VmSets, aliases: ['vmrs', 'set'] }, other];
  expect(() => targetsOf(['set', 'web'], kinds)).toThrow('"set" may mean vmrs or vmirs: give one of them');
});

test('a command that acts on objects requires their names', () =>
  expect(() => namedTargetsOf(['pool'], [Pools])).toThrow(/which pool\?/));

test('durations, counts and choices are read strictly', () => {
  expect([
    parseDuration('0'),
    parseDuration('90s'),
    parseDuration('1h30m'),
    parseDuration('1.5s'),
    parseDuration('250ms'),
  ]).toEqual([0, 90_000, 5_400_000, 1500, 250]);
  for (const wrong of ['', 'soon', '90', '5 m', '-5s', '5x'])
    expect(() => parseDuration(wrong)).toThrow('Give a duration');
  expect([parseCount('0'), parseCount('2147483647')]).toEqual([0, 2_147_483_647]);
  for (const wrong of ['', '-1', '1.5', '1e3', '0x10', '2147483648'])
    expect(() => parseCount(wrong)).toThrow('Give a whole number');
  expect([parseBoolean('true'), parseBoolean('false')]).toEqual([true, false]);
  expect(() => parseBoolean('maybe')).toThrow('Give true or false');
});

test.each<[words: string[], names: string[]]>([
  [['web-1'], ['web-1']],
  [
    ['web-1', 'vm/web-2', 'web-1'],
    ['web-1', 'web-2'],
  ],
  [
    ['vm', 'web-1', 'web-2'],
    ['web-1', 'web-2'],
  ],
  [['VirtualMachines', 'web-1'], ['web-1']],
  [['vm'], ['vm']],
  [
    ['vm/pool', 'web-1'],
    ['pool', 'web-1'],
  ],
])('%j are names of VMs', (words, names) => expect(vmNamesOf(words)).toEqual(names));

test.each<[words: string[], message: string]>([
  [[], 'which vm? Give its name'],
  [['pool', 'web'], '"pool" is a pool, and this command takes vm'],
  [['pool/web'], '"pool" is a pool, and this command takes vm'],
  [['web-1', 'Web'], '"Web" is not a valid object name'],
])('%j are not names of VMs', (words, message) => {
  expect(() => vmNamesOf(words)).toThrow(UsageError);
  expect(() => vmNamesOf(words)).toThrow(message);
});
