import { expect, test } from 'vitest';
import { MEMBERSHIP_CHANGE_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import { controllerOf, type Stored } from '../../../api/objects.ts';
import { VirtualMachinePools, VirtualMachines } from '../../../api/resources.ts';
import { changeAnnotation } from '../../../decisions/membership/change.ts';
import type { MembershipRequest } from '../../../decisions/membership/membership-request.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import { KubeError } from '../../../kubernetes/errors.ts';
import { membershipRequest, type Asking } from '../../requests.ts';
import { keyOf, SHOP, World } from '../forged/world.ts';

const poolIn = ({ server }: World): Stored & StoredPool =>
  server.find(VirtualMachinePools, { namespace: SHOP, name: 'web' }) as Stored & StoredPool;
const ownerIn = ({ server }: World, name: string): string | undefined =>
  controllerOf(server.get(VirtualMachines, { namespace: SHOP, name }))?.name;

/** Has a pool that wants two VMs, and has them, carry this out. `isNew`: no worker has looked at it before. */
async function asked(
  world: World,
  request: MembershipRequest,
  more: object = {},
  { isNew = false, ...asking }: Asking & { isNew?: boolean } = {},
): Promise<unknown> {
  const { annotations } = membershipRequest(request, asking);
  const pool = world.pool('web', { replicas: 2 }, { annotations: { ...annotations, ...more } });
  if (!isNew) world.looked(pool);
  world.vm(pool, 1);
  world.vm(pool, 2);
  await world.start();
  await world.written('changeMembers', [keyOf(pool)]);
  return world.answer;
}

test('a VM that the API server does not let move stays, and is reported with its words; the others move and are counted', async () => {
  const world = new World();
  for (const name of ['old-1', 'old-2', 'old-3']) world.other(SHOP, name);
  world.other(SHOP, 'theirs', { apiVersion: 'example.com/v1', kind: 'Farm', name: 'farm', uid: 'f' });
  world.client.onWrite = (_verb, resource, name) => {
    if (resource === VirtualMachines && name === 'old-2') throw new KubeError(403, 'Forbidden', 'not this one');
  };
  const vms = ['old-1', 'old-2', 'old-3', 'theirs', 'nobody'];
  expect(await asked(world, { action: 'adopt', vms })).toMatchObject({
    report: {
      moved: ['old-1', 'old-3'],
      faults: [
        { vm: 'old-2', message: 'not this one' },
        { vm: 'theirs', message: 'it belongs to Farm farm' },
        { vm: 'nobody', message: 'it is gone' },
      ],
    },
  });
  expect(vms.slice(0, 4).map((name) => ownerIn(world, name))).toEqual(['web', undefined, 'web', 'farm']);
  expect(poolIn(world).spec.replicas).toBe(4);
  expect(poolIn(world).metadata.annotations).not.toHaveProperty([MEMBERSHIP_CHANGE_ANNOTATION]);
});

test('a VM that was recreated under its name is not moved', async () => {
  const world = new World();
  world.other(SHOP, 'old');
  expect(await asked(world, { action: 'adopt', vms: ['old'], uids: ['of-before'] })).toMatchObject({
    report: { moved: [], faults: [{ vm: 'old', message: 'it is gone' }] },
  });
  expect(ownerIn(world, 'old')).toBeUndefined();
});

test.each<MembershipRequest>([{ action: 'adopt', vms: ['old'] }, { action: 'takeover' }, { action: 'release' }])(
  'a request that a pool was created with moves no VM, whatever a plan says: %o',
  async (request) => {
    const world = new World();
    world.other(SHOP, 'old');
    expect(await asked(world, request, {}, { isNew: true })).toMatchObject({ report: null });
    expect([ownerIn(world, 'old'), ownerIn(world, 'web-1')]).toEqual([undefined, 'web']);
    expect(poolIn(world).metadata.annotations).not.toHaveProperty([MEMBERSHIP_CHANGE_ANNOTATION]);
  },
);

test('a forged note on the pool, as if a worker had begun, moves no VM without a request', async () => {
  const world = new World();
  const [old, other] = ['old', 'other'].map((name) => world.other(SHOP, name).metadata);
  const request: MembershipRequest = { action: 'adopt', vms: ['old'], uids: [old!.uid] };
  const { digest } = membershipRequest(request, { id: 'known' });
  const vms = [old!, other!].map(({ name, uid }) => ({ name, uid }));
  const at = new Date(Date.now() + 1_000).toISOString();
  const written = changeAnnotation({ kind: 'adopt', vms, isCounted: true, request: digest, by: 'eve', at });
  await asked(world, request, written, { id: 'known' });
  expect([ownerIn(world, 'old'), ownerIn(world, 'other')]).toEqual(['web', undefined]);
  expect(poolIn(world).spec.replicas).toBe(3);
});

test('a pool that keeps its replicas wants as many as before', async () => {
  const world = new World();
  world.other(SHOP, 'old');
  await asked(world, { action: 'adopt', vms: ['old'], keepReplicas: true });
  expect([ownerIn(world, 'old'), poolIn(world).spec.replicas]).toEqual(['web', 2]);
});

test('a pool that was restored from a backup in the middle of an adoption wants as many VMs as before, and moves none', async () => {
  const world = new World();
  const { uid } = world.other(SHOP, 'old').metadata;
  const request: MembershipRequest = { action: 'adopt', vms: ['old'] };
  const begun = changeAnnotation({
    kind: 'adopt',
    vms: [{ name: 'old', uid }],
    isCounted: true,
    request: membershipRequest(request, { id: 'of-before' }).digest,
    by: 'ada',
    at: new Date(0).toISOString(),
  });
  expect(await asked(world, request, begun)).toMatchObject({ report: null });
  expect([ownerIn(world, 'old'), poolIn(world).spec.replicas]).toEqual([undefined, 2]);
  expect(poolIn(world).metadata.annotations).not.toHaveProperty([MEMBERSHIP_CHANGE_ANNOTATION]);
});
