import { beforeAll, expect, test } from 'vitest';
import {
  ADOPT_VMS_ANNOTATION,
  DETACHED_ANNOTATION,
  DISKS_FINALIZER,
  JOINED_ANNOTATION,
  KEPT_DISK,
  POOL_LABEL,
  REQUESTED_BY_ANNOTATION,
  REVISION_LABEL,
} from '../../../api/labels-and-annotations.ts';
import type { OwnerReference } from '../../../api/objects.ts';
import { PersistentVolumeClaims, VirtualMachinePools, VirtualMachines } from '../../../api/resources.ts';
import type { MembershipRequest } from '../../../decisions/membership/membership-request.ts';
import { givenCluster } from '../../cluster/given/given.ts';
import { needs } from '../../cluster/given/needs.ts';
import { healingRequest, membershipRequest } from '../../requests.ts';
import { chaosProxy } from '../chaos-proxy.ts';
import { aFleet, haltedTemplate, namesUpTo, until, type TestWorker } from '../fleet.ts';
import { withDisk } from '../healing/healings.ts';
import { userWith } from '../operations/operations.ts';
import { revisionIn, templateOf, TestPool } from '../rollout/rollouts.ts';
import { run, writeTo } from './commands.ts';
import { OwnershipLog, uidsIn } from './ownership-log.ts';

const fleet = aFleet();
let worker: TestWorker;
beforeAll(async () => {
  worker = await fleet().worker();
});

/** Everything by which an autoscaler, or drover, would know the VM as the pool's. */
async function marksOf(pool: TestPool, name: string): Promise<(string | undefined)[]> {
  const [vm, vmi] = [await pool.vm(name), await pool.vmi(name)];
  const template = vm.spec.template?.metadata?.labels;
  return [vm.metadata.labels, template, vmi.metadata.labels].flatMap((labels) => [
    labels?.[POOL_LABEL],
    labels?.[REVISION_LABEL],
  ]);
}

const none = Array.from({ length: 6 }, () => undefined);
const ownersOf = async (pool: TestPool, name: string): Promise<OwnerReference[]> =>
  (await pool.vm(name)).metadata.ownerReferences ?? [];

test('a detached VM runs on, is counted nowhere, and keeps its number; attached again, nothing restarts and nothing leaves', async () => {
  const pool = await TestPool.ready(fleet(), { replicas: 3 });
  const { namespace } = pool;
  const before = await uidsIn(fleet(), namespace);
  const revision = revisionIn(await pool.vm('web-2'));

  expect(await run(fleet(), namespace, 'detach', 'web-2')).toMatchObject({ code: 0 });
  await fleet().settled(namespace, 'web', ['web-1', 'web-3', 'web-4']);
  expect(await uidsIn(fleet(), namespace)).toMatchObject(before);
  expect(await marksOf(pool, 'web-2')).toEqual(none);

  const log = await OwnershipLog.start(fleet(), namespace);
  expect(await run(fleet(), namespace, 'attach', 'web-2')).toMatchObject({ code: 0 });
  await fleet().settled(namespace, 'web', namesUpTo('web', 4));
  await pool.until({ replicas: 4, updatedReplicas: 4 });
  expect((await pool.get()).spec.replicas).toBe(4);
  expect(await uidsIn(fleet(), namespace)).toMatchObject(before);
  expect(await marksOf(pool, 'web-2')).toEqual(['web', revision, 'web', revision, 'web', revision]);
  log.expectNoneMadeOrDeleted();

  // Of four VMs, the two that go are others: it is none the worse for having been away.
  expect(await run(fleet(), namespace, 'detach', 'web-1', 'web-2', '--decrement')).toMatchObject({ code: 0 });
  await fleet().settled(namespace, 'web', ['web-3', 'web-4']);
  expect((await pool.get()).spec.replicas).toBe(2);
  await until(async () => expect(await pool.condition('MembershipChanging')).toBeUndefined());
  expect(await uidsIn(fleet(), namespace)).toMatchObject(before);
  log.expectNoneMadeOrDeleted();

  await fleet().kube.delete(VirtualMachines, { namespace, name: 'web-1' });
  await until(async () => expect([...(await pool.vms()).keys()]).not.toContain('web-1'));
  await pool.patch({ replicas: 4 });
  await fleet().settled(namespace, 'web', ['web-1', 'web-3', 'web-4', 'web-5']);
});

test('an owner reference that users remove from a VM, and put back, takes the labels with it and brings them back', async () => {
  const pool = await TestPool.ready(fleet(), { replicas: 2, scaleInStrategy: { unmanaged: {} } });
  const { namespace } = pool;
  const before = await uidsIn(fleet(), namespace);
  const marks = await marksOf(pool, 'web-1');
  const owners = await ownersOf(pool, 'web-1');

  await pool.patchVm('web-1', { metadata: { ownerReferences: [] } });
  await until(async () => expect(await marksOf(pool, 'web-1')).toEqual(none));
  await fleet().settled(namespace, 'web', ['web-2', 'web-3']);
  expect((await pool.vm('web-1')).metadata.annotations).toHaveProperty([DETACHED_ANNOTATION]);

  // With this strategy, what is too many stays.
  await pool.patchVm('web-1', { metadata: { ownerReferences: owners } });
  await until(async () => expect(await marksOf(pool, 'web-1')).toEqual(marks));
  await pool.until({ replicas: 3, readyReplicas: 3, updatedReplicas: 3 });
  expect(await uidsIn(fleet(), namespace)).toMatchObject(before);
  expect((await pool.vm('web-1')).metadata.annotations).toHaveProperty([JOINED_ANNOTATION]);
});

test('VMs of no owner are adopted as they run: the pool makes and deletes none meanwhile, also when the worker is killed', async () => {
  const labels = { tier: 'web' };
  const template = templateOf({ vmMetadata: { labels } });
  const pool = await TestPool.ready(fleet(), { replicas: 1, template });
  const { namespace } = pool;
  for (const [name, cores] of [
    ['web-7', 1],
    ['old-web', 1],
    ['web-9', 2],
  ] as const)
    await fleet().kube.create(VirtualMachines, {
      metadata: { namespace, name, labels: { adopt: 'me' } },
      spec: templateOf({ cores }).spec,
    });
  await until(async () =>
    expect([...(await pool.vmis()).values()].filter(({ status }) => status?.phase === 'Running')).toHaveLength(4),
  );
  await pool.patch({ paused: true });
  const before = await uidsIn(fleet(), namespace);
  const adopt = ['adopt', 'pool/web', '-l', 'adopt=me'];

  const planned = await run(fleet(), namespace, ...adopt, '--dry-run');
  expect(planned).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('old-web: not named as pool web names its VMs') as string,
  });
  expect(planned.stdout).toMatch(/web-7 +left as it is +label tier/);
  expect(planned.stdout).toMatch(/web-9 +updated by the next rollout +spec\.template\.spec\.domain\.cpu\.cores/);
  expect((await pool.get()).spec.replicas).toBe(1);

  const log = await OwnershipLog.start(fleet(), namespace);
  await worker.kill();
  let isKilled = false;
  const proxy = await chaosProxy(fleet().stack.kubeconfig, (method, path) => {
    if (!isKilled && !writeTo('virtualmachines', 'web-7')(method, path)) return 'pass';
    isKilled = true;
    void worker.kill();
    return 'hang';
  });
  worker = await fleet().startWorker({ KUBECONFIG: proxy.kubeconfig });
  const command = run(fleet(), namespace, ...adopt);
  await until(async () => expect(isKilled).toBe(true));
  // The last VM is not written before all has been seen that is true in the middle.
  const seen = Promise.withResolvers<'pass'>();
  const holding = await chaosProxy(fleet().stack.kubeconfig, (method, path) =>
    writeTo('virtualmachines', 'web-9')(method, path) ? seen.promise : 'pass',
  );
  worker = await fleet().startWorker({ KUBECONFIG: holding.kubeconfig });
  await until(async () => expect((await ownersOf(pool, 'old-web')).map(({ name }) => name)).toEqual(['web']));
  expect((await pool.get()).spec.replicas).toBe(4);
  seen.resolve('pass');
  expect(await command).toMatchObject({ code: 0 });
  await pool.until({ replicas: 4, readyReplicas: 4, updatedReplicas: 3 });
  expect((await pool.get()).spec.replicas).toBe(4);
  expect(await uidsIn(fleet(), namespace)).toEqual(before);
  log.expectNoneMadeOrDeleted();
  expect((await pool.vm('web-7')).metadata.labels).toMatchObject({ tier: 'web', adopt: 'me', [POOL_LABEL]: 'web' });

  // The VM that the pool has made leaves, and none that users have put into it.
  await pool.patch({ replicas: 3 });
  await until(async () => expect([...(await pool.vms()).keys()].sort()).toEqual(['old-web', 'web-7', 'web-9']));
  await pool.patch({ paused: false });
  await pool.until({ readyReplicas: 3, updatedReplicas: 3 });
  if (givenCluster() === undefined) expect((await uidsIn(fleet(), namespace))['web-7']).toEqual(before['web-7']);
  // The proxies end with this test.
  await worker.kill();
  worker = await fleet().startWorker();
});

test('a request without a worker stays on the pool: the next worker carries it out, with all that was scaled meanwhile', async () => {
  const pool = await TestPool.ready(fleet(), { replicas: 2 });
  const { namespace } = pool;
  await fleet().kube.create(VirtualMachines, {
    metadata: { namespace, name: 'web-8' },
    spec: { ...templateOf().spec, runStrategy: 'Halted' },
  });
  await worker.kill();
  const log = await OwnershipLog.start(fleet(), namespace);
  const adopted = {
    code: 1,
    stderr: expect.stringContaining('no worker has done so within 1 s') as string,
  };
  expect(await run(fleet(), namespace, 'adopt', 'pool', 'web', 'web-8', '--timeout', '1s')).toMatchObject(adopted);
  const again = await run(fleet(), namespace, 'adopt', 'pool', 'web', 'web-8', '--timeout', '1s');
  expect(again).toMatchObject(adopted);
  log.expectNoneMadeOrDeleted();
  expect((await pool.get()).spec.replicas).toBe(3);
  await pool.patch({ replicas: 4 });

  worker = await fleet().startWorker();
  await fleet().settled(namespace, 'web', ['web-1', 'web-2', 'web-3', 'web-8']);
  expect((await pool.get()).spec.replicas).toBe(4);
  const detached = await run(fleet(), namespace, 'detach', 'web-8', '--decrement');
  expect(detached).toMatchObject({ code: 0 });
  await fleet().settled(namespace, 'web', ['web-1', 'web-2', 'web-3']);
});

const ofVms = (...verbs: string[]) => ({ apiGroups: ['kubevirt.io'], resources: ['virtualmachines'], verbs });

test('a user without the rights to patch and to delete VMs cannot have a worker move them', async () => {
  const pool = await TestPool.ready(fleet(), { replicas: 1 });
  const { namespace } = pool;
  const ofPools = { apiGroups: ['drover.dev'], resources: ['virtualmachinepools'], verbs: ['get', 'patch'] };
  const ann = await userWith(fleet(), namespace, 'ann', [ofPools, ofVms('delete')]);
  const eve = await userWith(fleet(), namespace, 'eve', [ofPools, ofVms('patch')]);
  const bob = await userWith(fleet(), namespace, 'bob', [ofPools, ofVms('patch', 'delete')]);
  const spec = { ...templateOf().spec, runStrategy: 'Halted' };
  const { metadata } = await fleet().kube.create(VirtualMachines, { metadata: { namespace, name: 'old' }, spec });
  const patch = ({ kube }: typeof ann, change: object): Promise<unknown> =>
    kube.patch(VirtualMachinePools, { namespace, name: 'web' }, 'merge', change);
  const named = { [ADOPT_VMS_ANNOTATION]: JSON.stringify({ old: metadata.uid }) };
  const adoption = { metadata: { annotations: named }, spec: { replicas: 2 } };
  for (const [user, verb] of [
    [ann, 'patch'],
    [eve, 'delete'],
  ] as const)
    await expect(patch(user, adoption)).rejects.toThrow(
      `${user.username} may not change the members of a pool: that takes the right to ${verb} virtualmachines of kubevirt.io`,
    );
  const ask = (by: string, request: MembershipRequest, user = bob): Promise<unknown> =>
    patch(user, { metadata: { annotations: membershipRequest(request, { by }).annotations } });
  await expect(ask(ann.username, { action: 'takeover' })).rejects.toThrow('who makes the request');
  for (const request of [{ action: 'takeover' }, { action: 'release' }] as const)
    await expect(ask(bob.username, request)).rejects.toThrow(
      'that takes the right to create virtualmachinepools of pool.kubevirt.io',
    );
  await worker.kill();
  await patch(bob, adoption);
  // What stands there is not asked for again, whoever changes something else.
  await patch(ann, { spec: { replicas: 3 } });
  worker = await fleet().startWorker();
  await fleet().settled(namespace, 'web', ['old', 'web-1', 'web-2']);
  await until(async () => expect((await pool.get()).metadata.annotations).not.toHaveProperty([ADOPT_VMS_ANNOTATION]));
  await Promise.all([ann, bob, eve].map(({ kube }) => kube.close()));
});

const adopts = { [ADOPT_VMS_ANNOTATION]: '{"db":"u"}' };
const pauses = (by: string) => healingRequest({ action: 'pause' }, { by }).annotations;
const wants = (requester: string) => ({ [REQUESTED_BY_ANNOTATION]: requester });

test('a pool that is created with a request takes the rights of its author, and names who creates it', async () => {
  const namespace = await fleet().namespace();
  const ofPools = { apiGroups: ['drover.dev'], resources: ['virtualmachinepools'], verbs: ['create', 'get', 'patch'] };
  const ann = await userWith(fleet(), namespace, 'ann', [ofPools]);
  const bob = await userWith(fleet(), namespace, 'bob', [ofPools, ofVms('patch', 'delete')]);
  const creates = ({ kube }: Pick<typeof ann, 'kube'>, annotations: Record<string, string>): Promise<string> => {
    const pool = {
      metadata: { namespace, name: 'made', annotations },
      spec: { replicas: 0, template: haltedTemplate },
    };
    return kube.create(VirtualMachinePools, pool, { dryRun: true }).then(
      () => 'made',
      (error: Error) => error.message,
    );
  };
  expect(await creates(ann, adopts)).toContain(`${ann.username} may not change the members of a pool`);
  expect(await creates(bob, adopts)).toBe('made');
  expect(await creates(ann, pauses(ann.username))).toBe('made');
  for (const forged of [bob.username, `${ann.username} admin`])
    expect(await creates(ann, pauses(forged))).toContain('who makes the request');
  // One who may act as others may restore what these have made.
  expect(await creates(fleet(), { ...pauses(ann.username), ...adopts })).toBe('made');

  for (const forged of [`${bob.username} r`, `${ann.username} admin r`, ann.username])
    expect(await creates(ann, wants(forged))).toContain(`must be ${ann.username} and the revision`);
  expect(await creates(ann, wants(`${ann.username} r`))).toBe('made');
  expect(await creates(fleet(), wants('ada r'))).toBe('made');
  await fleet().createPool(namespace, 'web', { replicas: 0 });
  const annotates = ({ kube }: typeof ann, annotations: object): Promise<unknown> =>
    kube.patch(VirtualMachinePools, { namespace, name: 'web' }, 'merge', { metadata: { annotations } });
  await annotates(bob, wants(`${bob.username} r`));
  await expect(annotates(ann, wants(`${bob.username} s`))).rejects.toThrow(`must be ${ann.username} and the revision`);
  // What stands there may stay, whoever changes something else.
  await annotates(ann, { other: 'true' });
  await Promise.all([ann, bob].map(({ kube }) => kube.close()));
});

test("a deletion during which users take a VM out of its pool ends, and the VM's disks are kept", async () => {
  needs('DataVolumes');
  const pool = await TestPool.ready(fleet(), { replicas: 1, template: withDisk() });
  const { namespace } = pool;
  const claims = async () => (await fleet().kube.list(PersistentVolumeClaims, { namespace })).items;
  const [before] = await claims();
  await worker.kill();
  // As a worker leaves it that dies in a scale-in with statePreservation Offline.
  const { finalizers = [] } = (await pool.vm('web-1')).metadata;
  await pool.patchVm('web-1', { metadata: { finalizers: [...finalizers, DISKS_FINALIZER] } });
  await fleet().kube.delete(VirtualMachines, { namespace, name: 'web-1' });
  await pool.patchVm('web-1', { metadata: { ownerReferences: [] } });
  await pool.patch({ replicas: 0 });
  worker = await fleet().startWorker();
  await until(async () => expect([...(await pool.vms()).keys()]).toEqual([]));
  const [after] = await claims();
  expect(after?.metadata.uid).toBe(before!.metadata.uid);
  expect(after?.metadata.labels).toHaveProperty([KEPT_DISK]);
});
