import { expect, test } from 'vitest';
import { DNS_LABEL } from '../../../api/pool/text.ts';
import { freeNames, isReplicaName, replicaNames } from '../../../decisions/replica-sets/names.ts';

const set = { name: 'web', uid: '7c1f…' };
const first = (count: number): string[] => freeNames(set, count, () => false);

test('all of 100,000 names differ, and each is a DNS label that begins with the name of the set', () => {
  const names = first(100_000);
  expect(new Set(names).size).toBe(100_000);
  for (const name of names.slice(0, 1_000)) {
    expect(name).toMatch(/^web-[a-z0-9]{5}$/);
    expect(name).toMatch(DNS_LABEL);
  }
});

test('the names are always the same in the same order, without those in use', () => {
  const [one, two, three] = first(3);
  expect(first(3)).toEqual([one, two, three]);
  expect(freeNames(set, 2, (name) => name === two)).toEqual([one, three]);
  expect(freeNames(set, 0, () => false)).toEqual([]);
});

test('a set that is made again under the name of another has names of its own', () => {
  const { value } = replicaNames({ name: 'web', uid: 'another' }).next();
  expect(first(1_000)).not.toContain(value);
});

test('a set recognizes a name that it has given, and no other', () => {
  for (const name of first(1_000)) expect(isReplicaName('web', name)).toBe(true);
  for (const name of ['web-1', 'web-bcdfg-hjklm', 'web-abcde', 'web-bcdfgh', 'webbcdfg', 'web', 'other-bcdfg'])
    expect(isReplicaName('web', name)).toBe(false);
});
