import { expect, test } from 'vitest';
import { DiskUsers } from '../../../../activities/cache/objects/disk-users.ts';
import { aVm, aVmi } from '../../../decisions/fixtures/fleets.ts';

test('a VM or VMI that uses a disk is known until it stops using the disk, is gone or has ended', () => {
  const users = new DiskUsers();
  const of = (disk: string) => users.of('shop', disk).map(({ kind, name }) => `${kind} ${name}`);
  const one = { ...aVm('web-1'), namespace: 'shop', disks: ['root-1', 'data-1'] };
  users.change('VirtualMachine', undefined, one);
  users.change('VirtualMachine', undefined, { ...aVm('web-2'), namespace: 'other', disks: ['root-1'] });
  expect(of('root-1')).toEqual(['VirtualMachine web-1']);

  const vmi = { ...aVmi(one), namespace: 'shop', disks: ['root-1'] };
  users.change('VirtualMachineInstance', undefined, vmi);
  users.change('VirtualMachine', one, { ...one, disks: ['data-1'] });
  expect(of('root-1')).toEqual(['VirtualMachineInstance web-1']);
  users.change('VirtualMachineInstance', vmi, { ...vmi, phase: 'Succeeded' });
  expect(of('root-1')).toEqual([]);

  expect(of('data-1')).toEqual(['VirtualMachine web-1']);
  users.change('VirtualMachine', { ...one, disks: ['data-1'] }, undefined);
  expect(of('data-1')).toEqual([]);
});

test('a VM is told of before its VMI, whichever the watches tell of first', () => {
  const users = new DiskUsers();
  const vm = { ...aVm('rescue'), namespace: 'shop', disks: ['data-1'] };
  users.change('VirtualMachineInstance', undefined, { ...aVmi(vm), namespace: 'shop', disks: ['data-1'] });
  users.change('VirtualMachine', undefined, vm);
  expect(users.of('shop', 'data-1').map(({ kind }) => kind)).toEqual(['VirtualMachine', 'VirtualMachineInstance']);
});
