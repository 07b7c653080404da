import { expect, test } from 'vitest';
import {
  healVmIdOf,
  operationIdOf,
  ownerIdOf,
  poolIdOf,
  poolOfChild,
  scheduleIdOf,
  updateBatchIdOf,
} from '../../../workflows/lib/messages.ts';

/** The longest names that there are: of the workers of a namespace, and of pools. */
const longest = { cluster: `${'c'.repeat(63)}.${'n'.repeat(63)}`, namespace: 'n'.repeat(63), name: 'p'.repeat(57) };
const vm = (number: number): string => `${longest.name}-${number}`;
const operation = (name: string) => ({ cluster: 'default', namespace: 'shop', name, uid: '0c5f8f6e' });

test('an id is never longer than what the databases of Temporal hold', () => {
  const long = operation('o'.repeat(253));
  const ids = [
    ownerIdOf('VirtualMachineInstanceReplicaSet', longest),
    healVmIdOf(longest, vm(1), 1),
    healVmIdOf(longest, vm(2), 1),
    healVmIdOf(longest, vm(2), 2),
    updateBatchIdOf(longest, '0123456789', 1_000),
    operationIdOf(long),
    scheduleIdOf(long),
    operationIdOf({ ...long, uid: '1d6f8f6e' }),
  ];
  expect(ids.map((id) => id.length)).toEqual(ids.map(() => 255));
  expect(new Set(ids).size).toBe(ids.length);
  expect(poolOfChild(healVmIdOf({ ...longest, cluster: 'c'.repeat(63) }, vm(1), 1))).toBe(
    poolIdOf({ ...longest, cluster: 'c'.repeat(63) }),
  );
});

test('other ids say in full what they are of', () => {
  const ref = { cluster: 'default', namespace: 'shop', name: 'web' };
  expect(healVmIdOf(ref, 'web-1', 2)).toBe('pool/default/shop/web/heal/web-1/2');
});
