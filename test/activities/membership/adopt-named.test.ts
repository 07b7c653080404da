import { expect, test } from 'vitest';
import {
  ADOPT_VMS_ANNOTATION,
  MEMBERSHIP_CHANGE_ANNOTATION,
  UID_ANNOTATION,
} from '../../../api/labels-and-annotations.ts';
import { controllerOf, type Stored } from '../../../api/objects.ts';
import { VirtualMachinePools, VirtualMachines } from '../../../api/resources.ts';
import { changeAnnotation } from '../../../decisions/membership/change.ts';
import type { MembershipRequest } from '../../../decisions/membership/membership-request.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import { KubeError } from '../../../kubernetes/errors.ts';
import { membershipRequest } from '../../requests.ts';
import { keyOf, SHOP, World } from '../forged/world.ts';

const poolIn = ({ server }: World): Stored & StoredPool =>
  server.find(VirtualMachinePools, { namespace: SHOP, name: 'web' }) as Stored & StoredPool;
const ownerIn = ({ server }: World, name: string): string | undefined =>
  controllerOf(server.get(VirtualMachines, { namespace: SHOP, name }))?.name;
const namedIn = (world: World): string | undefined => poolIn(world).metadata.annotations?.[ADOPT_VMS_ANNOTATION];

/** Has a pool that wants two VMs, and has them, adopt the named ones. `named`: as its annotation says. */
async function adopted(
  world: World,
  vms: readonly { name: string; uid: string }[],
  named: object = Object.fromEntries(vms.map(({ name, uid }) => [name, uid])),
  metadata: { annotations?: object } = {},
): Promise<void> {
  const annotations = { [ADOPT_VMS_ANNOTATION]: JSON.stringify(named), ...metadata.annotations };
  const pool = world.pool('web', { replicas: 2 }, { ...metadata, annotations });
  world.vm(pool, 1);
  world.vm(pool, 2);
  await world.start();
  await world.written('adoptNamedVms', [keyOf(pool), vms]);
}

const madeIn = (world: World, ...names: string[]) => names.map((name) => world.other(SHOP, name).metadata);

test('a VM that the API server does not let move stays named; the others move, or are told of, and are forgotten', async () => {
  const world = new World();
  const vms = madeIn(world, 'old-1', 'old-2', 'old-3');
  const theirs = world.other(SHOP, 'theirs', { apiVersion: 'example.com/v1', kind: 'Farm', name: 'farm', uid: 'f' });
  world.client.onWrite = (_verb, resource, name) => {
    if (resource === VirtualMachines && name === 'old-2') throw new KubeError(403, 'Forbidden', 'not this one');
  };
  await adopted(world, [...vms, theirs.metadata, { name: 'nobody', uid: 'gone' }]);
  expect(world.answer).toMatchObject({ refused: { message: 'not this one', names: ['old-2'] } });
  expect(['old-1', 'old-2', 'old-3', 'theirs'].map((name) => ownerIn(world, name))).toEqual([
    'web',
    undefined,
    'web',
    'farm',
  ]);
  expect(JSON.parse(namedIn(world)!)).toEqual({ 'old-2': vms[1]!.uid });
  expect(poolIn(world).spec.replicas).toBe(2);
  const notes = world.client.events.map(({ reason, message }) => [reason, message]);
  expect(notes).toContainEqual(['FailedAdopt', 'Not adopted: vm nobody is gone; vm theirs belongs to Farm farm']);
});

test('where the API server asks nobody for rights, no VM is adopted, then or later', async () => {
  const world = new World();
  world.client.hasPolicies = false;
  const [old] = madeIn(world, 'old');
  await adopted(world, [old!]);
  expect([ownerIn(world, 'old'), namedIn(world)]).toEqual([undefined, undefined]);
  expect(world.client.events).toMatchObject([
    { reason: 'FailedAdopt', message: expect.stringContaining('is not in force') },
  ]);
});

test('a VM that was recreated under its name is not moved', async () => {
  const world = new World();
  madeIn(world, 'old');
  await adopted(world, [{ name: 'old', uid: 'of-before' }]);
  expect([ownerIn(world, 'old'), namedIn(world)]).toEqual([undefined, undefined]);
});

test.each<[string, (uid: string) => [named: object | undefined, metadata: object]]>([
  ['does not name it', () => [{}, {}]],
  ['names another VM of its name', () => [{ old: 'another' }, {}]],
  ['is being restored from a backup', () => [undefined, { annotations: { [UID_ANNOTATION]: 'of-before' } }]],
  [
    'is being taken over',
    () => [undefined, { annotations: changeAnnotation({ kind: 'takeover', by: 'ada', at: '2026-01-01T00:00:00Z' }) }],
  ],
])('a pool that %s adopts no VM, whatever a plan says', async (_what, given) => {
  const world = new World();
  const [old] = madeIn(world, 'old');
  await adopted(world, [old!], ...given(old!.uid));
  expect(ownerIn(world, 'old')).toBeUndefined();
});

test.each<MembershipRequest>([{ action: 'takeover' }, { action: 'release' }])(
  'a request that a pool was created with moves no VM, whatever a plan says: %o',
  async (request) => {
    const world = new World();
    const { annotations } = membershipRequest(request);
    const pool = world.pool('web', { replicas: 1 }, { annotations });
    const unseen = { replicas: 1 };
    world.server.write(VirtualMachinePools, pool.metadata, (before) => ({ ...before, status: unseen }), 'status');
    world.vm(pool, 1);
    await world.start();
    await world.written('changeMembers', [keyOf(pool)]);
    expect(world.answer).toMatchObject({ report: null });
    expect(ownerIn(world, 'web-1')).toBe('web');
    expect(poolIn(world).metadata.annotations).not.toHaveProperty([MEMBERSHIP_CHANGE_ANNOTATION]);
  },
);
