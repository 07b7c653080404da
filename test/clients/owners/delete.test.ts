import '../../own-modules.ts';
import { afterEach, expect, test, vi } from 'vitest';
import type { Resource } from '../../../api/resources.ts';
import { ownerKindOf, Pools } from '../../../clients/cli/kinds.ts';
import { deleteOwners, type OwnerToDelete } from '../../../clients/owners/delete.ts';
import type { KubeClient, ObjectKey } from '../../../kubernetes/client.ts';
import { KubeError, KubeUnreachable } from '../../../kubernetes/errors.ts';

const { said } = vi.hoisted(() => ({ said: [] as string[] }));
vi.mock('../../../clients/cli/print.ts', async (importOriginal) => ({
  ...(await importOriginal<object>()),
  print: (line: string) => said.push(line),
  printNote: (line: string) => said.push(line),
}));
afterEach(() => void said.splice(0));

const key = (namespace: string, name: string): OwnerToDelete => ({ kind: Pools, namespace, name });
const pathOf = ({ namespace, name }: ObjectKey): string => `${namespace}/${name}`;
const how = { cascade: 'background', dryRun: 'none' } as const;

const get = (_resource: unknown, asked: ObjectKey): Promise<unknown> => {
  if (asked.name === 'nope') return Promise.reject(new KubeError(404, 'NotFound', '"nope" not found'));
  return Promise.resolve({ metadata: { ...asked, uid: `uid of ${pathOf(asked)}` } });
};

/** A server that has all pools but `nope`, forbids the deletion of `held`, and records what it deletes. */
function server(): { kube: KubeClient; deleted: string[] } {
  const deleted: string[] = [];
  const del = ({ plural }: Resource, asked: ObjectKey): Promise<void> => {
    if (asked.name === 'held') return Promise.reject(new KubeError(403, 'Forbidden', '"held" is held'));
    deleted.push(`${plural === 'virtualmachinepools' ? '' : `${plural}/`}${pathOf(asked)}`);
    return Promise.resolve();
  };
  return { kube: { get, delete: del } as unknown as KubeClient, deleted };
}

test('a pool that is missing, or may not be deleted, stops no other deletion, whichever the namespace', async () => {
  const { kube, deleted } = server();
  const keys = [key('a', 'nope'), key('a', 'web'), key('b', 'held'), key('b', 'web')];
  const { going, refused } = await deleteOwners(kube, keys, how);
  expect(deleted).toEqual(['a/web', 'b/web']);
  expect(going.map(({ uid }) => uid)).toEqual(['uid of a/web', 'uid of b/web']);
  expect(refused.map(({ message }) => message)).toEqual(['"nope" not found', '"held" is held']);
});

test('a missing pool is not a failure with --ignore-not-found', async () => {
  const { kube, deleted } = server();
  const keys = [key('a', 'nope'), key('a', 'web')];
  expect(await deleteOwners(kube, keys, { ...how, ignoreNotFound: true })).toMatchObject({ refused: [] });
  expect(deleted).toEqual(['a/web']);
});

test('a dry run of the client deletes nothing', async () => {
  const { kube, deleted } = server();
  await deleteOwners(kube, [key('a', 'web')], { ...how, dryRun: 'client' });
  expect(deleted).toEqual([]);
});

test('an unreachable server is reported once', async () => {
  const kube = { get: () => Promise.reject(new KubeUnreachable('away')) } as unknown as KubeClient;
  await expect(deleteOwners(kube, [key('a', 'web'), key('a', 'db')], how)).rejects.toThrow('away');
});

test('a replica set is deleted as its kind, and a pool of its name stays', async () => {
  const { kube, deleted } = server();
  const kind = ownerKindOf('VirtualMachineReplicaSet')!;
  await deleteOwners(kube, [{ ...key('a', 'web'), kind }], how);
  expect(deleted).toEqual(['virtualmachinereplicasets/a/web']);
  expect(said).toEqual(['virtualmachinereplicaset.drover.dev "web" deleted']);
  const { refused } = await deleteOwners(kube, [{ ...key('a', 'nope'), kind }], { ...how, ignoreNotFound: true });
  expect(refused).toEqual([]);
  expect(said.at(-1)).toBe('replica set nope is not there');
});
