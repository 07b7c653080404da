import { expect, test, vi } from 'vitest';
import { deletePools, type PoolKey } from '../../../clients/pools/delete.ts';
import type { KubeClient, ObjectKey } from '../../../kubernetes/client.ts';
import { KubeError, KubeUnreachable } from '../../../kubernetes/errors.ts';

vi.mock('../../../clients/cli/output.ts', () => ({ print: () => {}, note: () => {} }));

const key = (namespace: string, name: string): PoolKey => ({ namespace, name });
const pathOf = ({ namespace, name }: ObjectKey): string => `${namespace}/${name}`;
const how = { cascade: 'background', dryRun: 'none' } as const;

const get = (_resource: unknown, asked: ObjectKey): Promise<unknown> => {
  if (asked.name === 'nope') return Promise.reject(new KubeError(404, 'NotFound', '"nope" not found'));
  return Promise.resolve({ metadata: { ...asked, uid: `uid of ${pathOf(asked)}` } });
};

/** A server that has all pools but `nope`, forbids the deletion of `held`, and records what it deletes. */
function server(): { kube: KubeClient; deleted: string[] } {
  const deleted: string[] = [];
  const del = (_resource: unknown, asked: ObjectKey): Promise<void> => {
    if (asked.name === 'held') return Promise.reject(new KubeError(403, 'Forbidden', '"held" is held'));
    deleted.push(pathOf(asked));
    return Promise.resolve();
  };
  return { kube: { get, delete: del } as unknown as KubeClient, deleted };
}

test('a pool that is not there, or may not be deleted, keeps none of the others, whichever the namespace', async () => {
  const { kube, deleted } = server();
  const keys = [key('a', 'nope'), key('a', 'web'), key('b', 'held'), key('b', 'web')];
  const { going, refused } = await deletePools(kube, keys, how);
  expect(deleted).toEqual(['a/web', 'b/web']);
  expect(going.map(({ uid }) => uid)).toEqual(['uid of a/web', 'uid of b/web']);
  expect(refused.map(({ message }) => message)).toEqual(['"nope" not found', '"held" is held']);
});

test('with --ignore-not-found a pool that is not there is no failure', async () => {
  const { kube, deleted } = server();
  const keys = [key('a', 'nope'), key('a', 'web')];
  expect(await deletePools(kube, keys, { ...how, ignoreNotFound: true })).toMatchObject({ refused: [] });
  expect(deleted).toEqual(['a/web']);
});

test('a dry run of the client deletes nothing', async () => {
  const { kube, deleted } = server();
  await deletePools(kube, [key('a', 'web')], { ...how, dryRun: 'client' });
  expect(deleted).toEqual([]);
});

test('a server that does not answer is told once', async () => {
  const kube = { get: () => Promise.reject(new KubeUnreachable('away')) } as unknown as KubeClient;
  await expect(deletePools(kube, [key('a', 'web'), key('a', 'db')], how)).rejects.toThrow('away');
});
