import { describe, expect, test } from 'vitest';
import {
  ORPHAN_FINALIZER,
  POOL_FINALIZER,
  REMOVING_ANNOTATION,
  ROLE_LABEL,
} from '../../../api/labels-and-annotations.ts';
import type { Stored } from '../../../api/objects.ts';
import type { SetKind } from '../../../api/owner-kinds.ts';
import { VirtualMachineInstances, VirtualMachinePools, VirtualMachines } from '../../../api/resources.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import { poolTemplate } from '../../../decisions/template/template.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import { planned } from './plan-request.ts';
import { PATCH, POWER, TABLE, type Forgery } from './table.ts';
import { BANK, keyOf, referenceTo, SHOP, targetOf, World, type ActivityName } from './world.ts';

/** A VM or an owner that a caller names, though nothing is to be done to it. */
interface Given {
  world: World;
  web: Stored & StoredPool;
  forgery: Forgery;
}

/**
 * VMs that no call may touch: of nobody, of another pool, of another namespace, of KubeVirt's pool, and healthy ones of
 * the pool itself, for which no cause holds.
 */
async function given(): Promise<Given> {
  const world = new World();
  const web = world.pool('web', { replicas: 5 });
  world.revision(web, 1, 1);
  const api = world.pool('api', { replicas: 1 });
  world.revision(api, 1, 1);
  const own = [1, 2, 3].map((number) => world.vm(web, number));
  const labelled = (number: number, role: string): Stored =>
    world.server.write(VirtualMachines, world.vm(web, number).metadata, ({ metadata, ...vm }) => ({
      ...vm,
      metadata: { ...metadata, labels: { ...metadata.labels, [ROLE_LABEL]: role } },
    }));
  const kubevirt = { ...referenceTo(web, 'pool.kubevirt.io/v1beta1') };
  const strangers = {
    'of nobody': world.typed(SHOP, 'db'),
    'of nobody, marked as leaving': world.other(SHOP, 'old', undefined, {
      annotations: { [REMOVING_ANNOTATION]: new Date().toISOString() },
    }),
    'of nobody, held for its disks': world.held(world.other(SHOP, 'held')),
    'of another pool': world.vm(api, 1),
    'of the pool, labelled as extra by somebody': labelled(4, 'Surge'),
    'of the pool, labelled as standby by somebody': labelled(5, 'Standby'),
    'of another namespace': world.other(BANK, 'web-2', referenceTo(web)),
    "of KubeVirt's pool": world.other(SHOP, 'kv-1', { ...kubevirt, name: 'kv', uid: 'uid-of-kv' }),
    "of KubeVirt's pool, with the UID of drover's": world.other(SHOP, 'web-7', kubevirt),
  };
  const operation = keyOf(world.operation(['db-0']));
  const types = keyOf(world.typesOperation({ names: ['db-0'] }));
  const clusterOperation = keyOf(world.clusterOperation(['empty']));
  const patch = keyOf(world.operation(['db-0'], { action: 'Patch', patch: PATCH }));
  const members = [...own.map(({ metadata }) => metadata.name), 'api-1', 'web-4', 'web-5', 'web-7', 'kv-1'];
  const patchOfMembers = keyOf(world.operation(members, { action: 'Patch', patch: PATCH }, 'patch-of-members'));
  const windows = [{ cron: '0 2 29 2 *', duration: '1m' }];
  const closed = keyOf(world.operation(['held', 'web-4'], { windows }, 'closed'));
  const schedule = keyOf(world.schedule({ suspend: true }));
  await world.start();
  const vmi = world.server.get(VirtualMachineInstances, own[0]!.metadata).metadata.uid;
  const forgery: Forgery = {
    web: keyOf(web),
    api: keyOf(api),
    own: own[0]!,
    vmi,
    strangers,
    operation,
    types,
    clusterOperation,
    patch,
    patchOfMembers,
    closed,
    schedule,
  };
  return { world, web, forgery };
}

test('the table has every activity of a worker', async () => {
  const { world } = await given();
  expect(Object.keys(TABLE).sort()).toEqual(world.names.sort());
});

const proven = Object.entries(TABLE).filter(([, row]) => 'forged' in row) as [
  ActivityName,
  Extract<(typeof TABLE)[ActivityName], { forged: unknown }>,
][];

describe.each(proven)('%s', (name, row) => {
  test('writes nothing, whatever a caller makes up', async () => {
    const { world, forgery } = await given();
    for (const [what, args] of row.forged(forgery)) {
      expect.soft(await world.written(name, args), `${what}: ${JSON.stringify(args)}`).toEqual([]);
    }
  });

  test.each(Object.entries(row.honest))('does what is legitimate: %s', async (_what, make) => {
    const world = new World();
    const args = make(world);
    await world.start();
    expect({ writes: await world.written(name, args()), failure: world.failure }).not.toMatchObject({ writes: [] });
  });
});

test.each<[string, object]>([
  ['from its beginning', {}],
  ['in the middle', { ended: 'C' }],
])('an operation has only its own workflow: another one does nothing, %s', async (_when, how) => {
  const world = new World();
  const { metadata } = world.other(SHOP, 'db');
  const args = [{ ...POWER, operation: keyOf(world.operation([metadata.name])), ...how }];
  await world.start();
  expect(await world.written('changePower', args, 'power/default/made-up')).toEqual([]);
  expect(world.failure).toMatchObject({ type: 'Refused', nonRetryable: true });
  expect(await world.written('changePower', args)).not.toEqual([]);
});

const OF_NOTHING = {
  resultUnknown: false,
  minVersions: {},
  backoffs: {},
  inProgress: { creating: [], deleting: [] },
  turn: 0,
};
const OF_POOL = { batches: [], rollout: null, healing: null, batchesNotBefore: 0 };

test.each<[string, string, SetKind | undefined, object]>([
  ['plan', 'pool', undefined, OF_POOL],
  ['planReplicaSet', 'replica-set', 'VirtualMachineReplicaSet', { uncertain: [], starts: null }],
  ['planReplicaSet', 'vmi-replica-set', 'VirtualMachineInstanceReplicaSet', { uncertain: [], starts: null }],
])('%s writes a status for the workflow of the %s itself, and for no other caller', async (name, id, kind, own) => {
  const world = new World();
  const { metadata } = kind === undefined ? world.pool('web') : world.set(kind, 'web');
  await world.start();
  const request = { ...OF_NOTHING, ...own, kind, namespace: SHOP, name: 'web', now: Date.now() };
  for (const [workflow, isLocal] of [
    [`${id}/default/shop/web`, false],
    [`${id}/default/shop/other`, true],
  ] as const) {
    world.failure = undefined;
    expect(await world.written(name, [request], workflow, isLocal)).toEqual([]);
    expect(world.failure).toMatchObject({ type: 'Refused', nonRetryable: true });
  }
  const writes = await world.written(name, [request], `${id}/default/shop/web`, true);
  expect(writes).toEqual([expect.stringMatching(/^patch \w+ shop\/web$/)]);
  expect(world.answer).toMatchObject({ gone: false, key: { uid: metadata.uid } });
});

test('a pool that is deleted without its VMs loses none of them, though a caller says that they go with it', async () => {
  const world = new World();
  const pool = world.pool('web', {}, { finalizers: [POOL_FINALIZER, ORPHAN_FINALIZER] });
  const vm = world.vm(pool, 1);
  world.server.delete(VirtualMachinePools, pool.metadata);
  await world.start();
  const cause = { because: 'OwnerDeleted' };
  expect(await world.written('deleteVms', [keyOf(pool), [targetOf(vm)], false, cause])).toEqual([]);
});

test.each<[string, (world: World, pool: Stored & StoredPool, vm: Stored) => Promise<unknown>]>([
  [
    'that it was made as one',
    (world, pool) =>
      world.written('createVms', [
        keyOf(pool),
        [1],
        revisionOf(poolTemplate(pool.spec)),
        {},
        { generation: 1, role: 'Surge' },
      ]),
  ],
  [
    'to its workflow that the status says so',
    (world, _pool, vm) => {
      const roles = [{ vm: vm.metadata.name, uid: vm.metadata.uid, role: 'Surge', at: vm.metadata.creationTimestamp }];
      return planned(world, { status: { roles }, roles });
    },
  ],
])('a replica that a user has labelled as extra stays, though a caller says %s', async (_what, claim) => {
  const world = new World();
  const pool = world.pool('web', { replicas: 1, maxSurge: 1 });
  world.vm(pool, 2);
  const made = world.vm(pool, 1, { creationTimestamp: new Date(0).toISOString() });
  const vm = world.server.write(VirtualMachines, made.metadata, ({ metadata, ...rest }) => ({
    ...rest,
    metadata: { ...metadata, labels: { ...metadata.labels, [ROLE_LABEL]: 'Surge' } },
  }));
  await world.start();
  await claim(world, pool, vm);
  expect(await world.written('deleteVms', [keyOf(pool), [targetOf(vm)], false, { because: 'Surge' }])).toEqual([]);
});
