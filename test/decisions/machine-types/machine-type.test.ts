import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  compareMachineTypes,
  isAlias,
  machineTypeOf,
  newerThan,
} from '../../../decisions/machine-types/machine-type.ts';

test.each<[name: string, family: string, version: number[] | null]>([
  ['pc-q35-rhel9.2.0', 'pc-q35-rhel', [9, 2, 0]],
  ['pc-q35-rhel10.0.0', 'pc-q35-rhel', [10, 0, 0]],
  ['pc-i440fx-rhel7.6.0', 'pc-i440fx-rhel', [7, 6, 0]],
  ['pc-i440fx-2.12', 'pc-i440fx', [2, 12]],
  ['pc-q35-4.0.1', 'pc-q35', [4, 0, 1]],
  ['pseries-rhel8.2.0', 'pseries-rhel', [8, 2, 0]],
  ['pseries-rhel7.6.0-sxxm', 'pseries-rhel-sxxm', [7, 6, 0]],
  ['s390-ccw-virtio-rhel9.2.0', 's390-ccw-virtio-rhel', [9, 2, 0]],
  ['s390-ccw-virtio-8.1', 's390-ccw-virtio', [8, 1]],
  ['virt-rhel9.2.0', 'virt-rhel', [9, 2, 0]],
  ['virt-9.0', 'virt', [9, 0]],
  ['q35', 'q35', null],
  ['pc', 'pc', null],
  ['pc-q35', 'pc-q35', null],
  ['pc-i440fx', 'pc-i440fx', null],
  ['s390-ccw-virtio', 's390-ccw-virtio', null],
  ['pc-q35-jammy', 'pc-q35-jammy', null],
  ['none', 'none', null],
  ['', '', null],
])('%s', (name, family, version) => {
  expect(machineTypeOf(name)).toEqual({ name, family, version });
  expect(isAlias(name)).toBe(version === null);
});

test('only types of one family are older or newer', () => {
  expect(compareMachineTypes('pc-q35-rhel9.2.0', 'pc-q35-rhel9.10.0')).toBeLessThan(0);
  expect(compareMachineTypes('pc-q35-rhel10.0.0', 'pc-q35-rhel9.10.0')).toBeGreaterThan(0);
  expect(compareMachineTypes('pc-q35-9.0', 'pc-q35-9.0.0')).toBe(0);
  expect(compareMachineTypes('pc-q35-9.0', 'pc-q35-rhel9.2.0')).toBeNull();
  expect(compareMachineTypes('pc-i440fx-2.12', 'pc-q35-2.12')).toBeNull();
  expect(compareMachineTypes('q35', 'q35')).toBeNull();
});

test('types of a family are in an order', () => {
  const type = fc.array(fc.nat(20), { minLength: 2, maxLength: 3 }).map((numbers) => `virt-rhel${numbers.join('.')}`);
  fc.assert(
    fc.property(type, type, type, (one, two, three) => {
      expect(Math.sign(compareMachineTypes(one, two)!)).toBe(-Math.sign(compareMachineTypes(two, one)!) + 0);
      if (compareMachineTypes(one, two)! <= 0 && compareMachineTypes(two, three)! <= 0)
        expect(compareMachineTypes(one, three)).toBeLessThanOrEqual(0);
    }),
  );
});

test('an older type becomes the newest of its family', () => {
  const types = ['q35', 'pc-q35-9.9', 'pc-q35-rhel8.6.0', 'pc-q35-rhel9.10.0', 'pc-q35-rhel9.4.0', 'virt-rhel9.12.0'];
  expect(newerThan('pc-q35-rhel8.2.0', types)).toBe('pc-q35-rhel9.10.0');
  expect(newerThan('pc-q35-rhel9.10.0', types)).toBeNull();
  expect(newerThan('pc-q35-rhel9.12.0', types)).toBeNull();
  expect(newerThan('q35', types)).toBeNull();
});
