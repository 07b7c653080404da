import { describe, expect, test } from 'vitest';
import { MACHINE_TYPE_TRANSITION_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import type { MachineTypeChange } from '../../../api/operations/machine-type.ts';
import type { Resource } from '../../../api/resources.ts';
import { changedAgainBy, checkOver, findTransition } from '../../../clients/machine-types/transitions.ts';
import type { StoredOperation } from '../../../decisions/views/stored-operation.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { recordOfOurs } from '../../decisions/machine-types/snapshots.ts';
import { anOperation } from '../../decisions/operations/operations.ts';

const OLD_GLOB: MachineTypeChange = { from: '*rhel8.*' };
const aChange = (
  name: string,
  {
    machineType = OLD_GLOB,
    ...metadata
  }: Partial<StoredOperation['metadata']> & { machineType?: MachineTypeChange } = {},
): StoredOperation =>
  anOperation(
    { action: 'MachineType', machineType, vms: { selector: {} } },
    { name, uid: `uid-of-${name}`, ...metadata },
  );
const over = (operation: StoredOperation): StoredOperation => ({
  ...operation,
  status: { completionTime: '2026-01-01T00:00:00Z' },
});

/** An API server with these operations, and a VM that tells of an operation that is deleted. */
function serverWith(operations: StoredOperation[]): KubeClient {
  const record = JSON.stringify(recordOfOurs({ id: 'uid-of-gone', by: 'gone' }));
  const vm = {
    metadata: {
      namespace: 'shop',
      name: 'db',
      uid: 'vm',
      annotations: { [MACHINE_TYPE_TRANSITION_ANNOTATION]: record },
    },
    spec: {},
  };
  const all = ({ kind }: Resource): object[] =>
    kind === 'VirtualMachineOperation' ? operations : kind === 'VirtualMachine' ? [vm] : [];
  return {
    list: (resource: Resource) => Promise.resolve({ items: all(resource) }),
    pages: async function* (resource: Resource) {
      yield await Promise.resolve({ items: all(resource) });
    },
  } as unknown as KubeClient;
}

describe('the selected operation', () => {
  const [going, done] = [aChange('going'), over(aChange('done'))];
  const server = serverWith([going, done, anOperation({}, { name: 'restart', uid: 'another' })]);
  const meant = (word: string | undefined, of = server) => findTransition(of, undefined, word);

  test('is the running one, or the newest, if none is named', async () => {
    expect(await meant(undefined)).toMatchObject({ uid: 'uid-of-going', name: 'shop/going' });
    const older = over(aChange('older', { creationTimestamp: '2020-01-01T00:00:00Z' }));
    expect(await meant(undefined, serverWith([older, done]))).toMatchObject({ uid: 'uid-of-done' });
  });

  test('is found by its name, with its namespace or without, or by its UID', async () => {
    for (const word of ['done', 'shop/done', 'uid-of-done'])
      expect(await meant(word)).toMatchObject({
        uid: 'uid-of-done',
        operation: done,
        undoneAs: word === 'uid-of-done' ? word : 'done',
      });
  });

  test('is found by its records on VMs if it is deleted', async () => {
    for (const word of ['gone', 'uid-of-gone'])
      expect(await meant(word)).toEqual({ uid: 'uid-of-gone', name: word, undoneAs: word, operation: undefined });
  });

  test('is never one with another action, or one without any record', async () => {
    await expect(meant('restart')).rejects.toThrow(
      'no VM has a record of restart: `drover operations get -A` lists the operations',
    );
    await expect(meant('')).rejects.toThrow('which operation? "" is not the name of one');
  });

  test('must be named if several are running, or have one name', async () => {
    const twins = serverWith([going, aChange('going', { namespace: 'bank', uid: 'twin' })]);
    await expect(meant(undefined, twins)).rejects.toThrow('2 operations are running, name one: shop/going, bank/going');
    await expect(meant('going', twins)).rejects.toThrow(
      'there are 2 operations going, say which by -n: shop/going, bank/going',
    );
  });
});

test('a running operation cannot be undone', () => {
  const meant = { uid: 'uid', name: 'shop/going', undoneAs: 'going', operation: aChange('going') };
  expect(() => checkOver(meant)).toThrow('shop/going is still running, and would change again what is undone');
  expect(() => checkOver({ ...meant, operation: over(meant.operation) })).not.toThrow();
  expect(() => checkOver({ ...meant, operation: undefined })).not.toThrow();
});

const given = (type: string | null, namespace = 'shop') => ({ namespace, type });

describe('an undo would itself be reverted', () => {
  const forward = aChange('forward');

  test('by a running one that matches what the undo restores', () => {
    expect(changedAgainBy([forward], [given('q35'), given('pc-q35-rhel8.6.0')])).toEqual({
      by: forward,
      type: 'pc-q35-rhel8.6.0',
    });
  });

  test('but not by one of other types or namespaces, nor by another undo', () => {
    expect(changedAgainBy([forward], [given('q35'), given(null)])).toBeNull();
    expect(changedAgainBy([forward], [given('pc-q35-rhel8.6.0', 'bank')])).toBeNull();
    expect(changedAgainBy([aChange('undo', { machineType: { undoes: 'a' } })], [given('pc-q35-rhel8.6.0')])).toBeNull();
  });
});
