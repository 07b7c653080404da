import { afterAll, beforeAll, expect, test } from 'vitest';
import { KUBEVIRT_POOL_FINALIZER, KUBEVIRT_REVISION_LABEL, POOL_LABEL } from '../../../api/labels-and-annotations.ts';
import type { KubeObject } from '../../../api/objects.ts';
import {
  ControllerRevisions,
  PersistentVolumeClaims,
  Pods,
  VirtualMachineInstances,
  VirtualMachines,
} from '../../../api/resources.ts';
import type { ManagedFields } from '../../../clients/fields/field-ownership.ts';
import { APPLY_MANAGER } from '../../../clients/fields/server-side-apply.ts';
import { needs } from '../../cluster/given/needs.ts';
import { testOneOf } from '../../soak.ts';
import { startChaosProxy } from '../chaos-proxy.ts';
import { aFleet, until } from '../fleet.ts';
import { withDisk } from '../healing/healings.ts';
import { TestPool } from '../rollout/rollouts.ts';
import { killedBeforeEachWrite, run } from './commands.ts';
import { hasPoolController, KubeVirtPoolOfTest, theirTemplate } from './kubevirt-pool.ts';
import { OwnershipLog, ownersIn, uidsIn } from './ownership-log.ts';

const fleet = aFleet({ workers: 0 });
/** A VM that the API server does not let the worker change. */
let refused: string | undefined;
let close = (): void => {};

beforeAll(async () => {
  const proxy = await startChaosProxy(fleet().stack.kubeconfig, (method, path) =>
    method === 'PATCH' && path.split('?')[0]!.endsWith(`/virtualmachines/${refused}`)
      ? { status: 403, message: 'not this one' }
      : 'pass',
  );
  ({ close } = proxy);
  await fleet().startWorker({ KUBECONFIG: proxy.kubeconfig });
});
afterAll(() => close());

const takeover = (namespace: string, ...more: string[]) =>
  run(fleet(), namespace, 'takeover', 'vmpool', 'web', ...more);
/** A takeover in which the API server does not let this VM be handed over. */
async function takeoverBut(namespace: string, vm: string): Promise<void> {
  refused = vm;
  const { code, stderr } = await takeover(namespace);
  refused = undefined;
  expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining('not this one') as string });
}
const release = (namespace: string, ...more: string[]) => run(fleet(), namespace, 'release', 'pool', 'web', ...more);

/** Returns how many pods an autoscaler counts. */
const podsOf = async (namespace: string): Promise<number> =>
  (await fleet().kube.list(Pods, { namespace, labelSelector: `${POOL_LABEL}=web` })).items.length;

test('a KubeVirt pool becomes a pool of drover and goes back: the same VMs and VMIs, each with one owner throughout', async () => {
  // On a cluster with virt-controller, that fills gaps.
  const numbers = hasPoolController() ? [0, 1, 2] : [0, 2, 3];
  const theirs = await KubeVirtPoolOfTest.running(fleet(), { numbers });
  const { namespace } = theirs;
  const names = numbers.map((number) => `web-${number}`);
  const before = await uidsIn(fleet(), namespace);
  const log = await OwnershipLog.start(fleet(), namespace);

  const former = (await theirs.get())!.spec;
  const planned = await takeover(namespace, '--dry-run');
  expect(planned).toMatchObject({ code: 0, stdout: expect.stringMatching(/web-0 +left as it is +-\n/) as string });
  expect((await theirs.get())?.spec.paused ?? false).toBe(false);
  expect(await fleet().pool(namespace, 'web')).toBeUndefined();

  expect(await takeover(namespace)).toMatchObject({ code: 0 });
  const pool = TestPool.of(fleet(), namespace);
  await pool.until({ replicas: 3, readyReplicas: 3, updatedReplicas: 3, unavailableReplicas: 0 });
  await pool.untilSaid({ Progressing: 'Complete', UpToDate: 'UpToDate' });
  await until(async () => expect(await pool.condition('MembershipChanging')).toBeUndefined());
  expect(await ownersIn(fleet(), namespace)).toEqual({ 'drover.dev': names });
  expect(await uidsIn(fleet(), namespace)).toEqual(before);
  expect(await takeover(namespace)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('nothing is left') as string,
  });
  await until(async () => expect(await theirs.get()).toBeUndefined());
  for (const { metadata } of (await pool.vms()).values()) {
    expect(metadata.finalizers ?? []).not.toContain(KUBEVIRT_POOL_FINALIZER);
    expect(metadata.labels).toMatchObject({ app: 'web', [POOL_LABEL]: 'web' });
  }
  if (hasPoolController()) expect(await podsOf(namespace)).toBe(3);
  log.expectOneOwnerEach();
  // The next manifest changes the pool without a conflict.
  const owners = ((await pool.get()).metadata.managedFields ?? []) as ManagedFields[];
  const spec = owners.filter(({ fieldsV1 }) => 'f:spec' in fieldsV1);
  expect(spec).toEqual([expect.objectContaining({ manager: APPLY_MANAGER, operation: 'Apply' })]);

  // The pool is alive, and fills the first gap from 1 on.
  await pool.patch({ replicas: 4 });
  await pool.until({ replicas: 4, readyReplicas: 4 });
  const after = await uidsIn(fleet(), namespace);
  expect(Object.keys(after).sort()).toEqual(['web-0', 'web-1', 'web-2', 'web-3']);
  expect(after).toMatchObject(before);

  // As it stays behind if virt-controller is slower than the garbage collector, or away.
  const left = { metadata: { namespace, name: 'web-4' }, revision: 4, data: former };
  await fleet().kube.create<KubeObject>(ControllerRevisions, left);
  const back = await release(namespace);
  expect(back).toMatchObject({ code: 0 });
  expect(await fleet().pool(namespace, 'web')).toBeUndefined();
  expect(await uidsIn(fleet(), namespace)).toEqual(after);
  expect(await ownersIn(fleet(), namespace)).toEqual({ 'pool.kubevirt.io': ['web-0', 'web-1', 'web-2', 'web-3'] });
  expect((await theirs.get())?.spec).toMatchObject({ replicas: 4, paused: false });
  for (const { metadata } of (await pool.vms()).values()) {
    expect(metadata.finalizers).toContain(KUBEVIRT_POOL_FINALIZER);
    expect(Object.keys(metadata.labels ?? {}).sort()).toEqual(['app', KUBEVIRT_REVISION_LABEL]);
  }
  if (!hasPoolController()) return;

  // virt-controller is alive, and has nothing to do to the VMs that came back.
  await theirs.patch({ replicas: 5 });
  await until(async () => expect(Object.keys(await uidsIn(fleet(), namespace))).toHaveLength(5));
  await until(async () => expect((await theirs.get())?.status).toMatchObject({ replicas: 5, readyReplicas: 5 }));
  expect(await uidsIn(fleet(), namespace)).toMatchObject(after);

  // The next version of the pool, for which KubeVirt would take the revision that was left, reaches the VMIs.
  expect((await theirs.get())?.metadata.generation).toBe(3);
  await theirs.patch({ virtualMachineTemplate: theirTemplate({ cores: 2 }) });
  await until(async () => {
    const { items } = await fleet().kube.list<KubeObject & { spec: { domain: object } }>(VirtualMachineInstances, {
      namespace,
    });
    expect(items.map(({ spec }) => spec.domain)).toEqual(
      Array.from({ length: 5 }, () =>
        expect.objectContaining({ cpu: expect.objectContaining({ cores: 2 }) as object }),
      ),
    );
  });
});

/** The command makes a pool, or deletes one, and asks: a worker does the rest, killed in test/model. */
const KINDS_OF_WRITES = 2;

testOneOf({
  'a command for a takeover that is killed before any of its writes leaves each VM with one owner, nothing makes or deletes a VM, and a second run continues':
    async () => {
      const theirs = await KubeVirtPoolOfTest.running(fleet(), { numbers: [0, 1] });
      const { namespace } = theirs;
      const before = await uidsIn(fleet(), namespace);
      const log = await OwnershipLog.start(fleet(), namespace);
      const check = (): void => log.expectOneOwnerEach();
      const there = await killedBeforeEachWrite(fleet(), namespace, ['takeover', 'vmpool', 'web'], check);
      expect(there.outcome).toMatchObject({ code: 0 });
      expect(there.kills).toBeGreaterThanOrEqual(KINDS_OF_WRITES);
      const pool = TestPool.of(fleet(), namespace);
      await pool.until({ replicas: 2, readyReplicas: 2, updatedReplicas: 2 });
      await pool.untilSaid({ Progressing: 'Complete', UpToDate: 'UpToDate' });
      expect(await uidsIn(fleet(), namespace)).toEqual(before);
      await until(async () => expect(await theirs.get()).toBeUndefined());
      check();
    },
  'a command for the way back that is killed before any of its writes leaves each VM with one owner, nothing makes or deletes a VM, and a second run continues':
    async () => {
      const theirs = await KubeVirtPoolOfTest.running(fleet(), { numbers: [0, 1] });
      const { namespace } = theirs;
      const before = await uidsIn(fleet(), namespace);
      expect(await takeover(namespace)).toMatchObject({ code: 0 });
      await TestPool.of(fleet(), namespace).untilSaid({ Progressing: 'Complete', UpToDate: 'UpToDate' });
      await until(async () => expect(await theirs.get()).toBeUndefined());
      const log = await OwnershipLog.start(fleet(), namespace);
      const check = (): void => log.expectOneOwnerEach();
      const back = await killedBeforeEachWrite(fleet(), namespace, ['release', 'pool', 'web'], check);
      expect(back.outcome).toMatchObject({ code: 0 });
      expect(back.kills).toBeGreaterThanOrEqual(KINDS_OF_WRITES);
      expect((await theirs.get())?.spec.paused).toBe(false);
      expect(await fleet().pool(namespace, 'web')).toBeUndefined();
      expect(await uidsIn(fleet(), namespace)).toEqual(before);
      check();
    },
});

test('disks stay with their VMs, and KubeVirt heals none meanwhile', async () => {
  needs('DataVolumes');
  const virtualMachineTemplate = { metadata: { labels: { app: 'web' } }, ...withDisk() };
  const autohealing = { startUpFailureThreshold: 5 };
  const theirs = await KubeVirtPoolOfTest.running(fleet(), {
    numbers: [0, 1],
    spec: { virtualMachineTemplate, autohealing },
  });
  const { namespace } = theirs;
  const claims = async (): Promise<Record<string, string>> => {
    const { items } = await fleet().kube.list(PersistentVolumeClaims, { namespace });
    return Object.fromEntries(items.map(({ metadata }) => [metadata.name, metadata.uid]));
  };
  const before = { uids: await uidsIn(fleet(), namespace), claims: await claims() };
  expect(Object.keys(before.claims).sort()).toEqual(['disk-0', 'disk-1']);
  await takeoverBut(namespace, 'web-1');
  expect((await theirs.get())?.spec['autohealing']).toBeUndefined();
  expect(await takeover(namespace)).toMatchObject({ code: 0 });
  const pool = TestPool.of(fleet(), namespace);
  expect((await pool.get()).spec.autohealing).toEqual({ startupFailureThreshold: 5 });
  await pool.until({ replicas: 2, readyReplicas: 2, updatedReplicas: 2 });
  await until(async () => expect(await theirs.get()).toBeUndefined());
  expect(await release(namespace)).toMatchObject({ code: 0 });
  expect((await theirs.get())?.spec['autohealing']).toEqual(autohealing);
  expect({ uids: await uidsIn(fleet(), namespace), claims: await claims() }).toEqual(before);
});

test('a takeover that has not ended is taken back, and VMs that differ restart neither way', async () => {
  const theirs = await KubeVirtPoolOfTest.running(fleet());
  const { namespace } = theirs;
  const before = await uidsIn(fleet(), namespace);
  const log = await OwnershipLog.start(fleet(), namespace);
  await takeoverBut(namespace, 'web-1');
  expect(await ownersIn(fleet(), namespace)).toEqual({
    'drover.dev': ['web-0', 'web-2'],
    'pool.kubevirt.io': ['web-1'],
  });
  const refused = await run(fleet(), namespace, 'adopt', 'pool', 'web', 'other');
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('a takeover that') as string });

  expect(await release(namespace)).toMatchObject({ code: 0 });
  expect(await ownersIn(fleet(), namespace)).toEqual({ 'pool.kubevirt.io': ['web-0', 'web-1', 'web-2'] });
  expect((await theirs.get())?.spec.paused).toBe(false);
  log.expectOneOwnerEach();
  expect(await uidsIn(fleet(), namespace)).toEqual(before);

  await theirs.patch({ paused: true });
  const cores = { spec: { template: { spec: { domain: { cpu: { cores: 2 } } } } } };
  await fleet().kube.patch(VirtualMachines, { namespace, name: 'web-1' }, 'merge', cores);
  await theirs.patch({ virtualMachineTemplate: theirTemplate() });
  const planned = await takeover(namespace, '--dry-run');
  expect(planned.stdout).toMatch(/web-1 +updated by the next rollout +spec\.template\.spec\.domain\.cpu\.cores/);
  expect(await takeover(namespace)).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('spec.paused') as string,
  });
  const pool = TestPool.of(fleet(), namespace);
  expect((await pool.get()).spec.paused).toBe(true);
  await pool.until({ replicas: 3, readyReplicas: 3, updatedReplicas: 2 });
  await pool.untilSaid({ Paused: 'PausedBySpec' });
  expect(await uidsIn(fleet(), namespace)).toEqual(before);
  log.expectOneOwnerEach();

  expect(await release(namespace)).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('stays paused') as string,
  });
  expect((await theirs.get())?.spec.paused).toBe(true);
  expect(await uidsIn(fleet(), namespace)).toEqual(before);
});

test('VMs that KubeVirt has made since, or that it is about to delete, are not taken over without being asked for', async () => {
  const theirs = await KubeVirtPoolOfTest.running(fleet(), { numbers: [0, 1] });
  const { namespace } = theirs;
  await takeoverBut(namespace, 'web-1');
  await fleet().patchPool(namespace, 'web', { replicas: 1 });
  const surplus = await takeover(namespace);
  expect(surplus).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('has 2 VMs and wants 1, and drover would remove') as string,
  });
  await fleet().patchPool(namespace, 'web', { replicas: 2 });
  await fleet().kube.delete(VirtualMachines, { namespace, name: 'web-1' });
  const going = await takeover(namespace);
  expect(going).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('`drover release pool web` lets KubeVirt finish that') as string,
  });
  expect(await release(namespace)).toMatchObject({ code: 0 });
  if (hasPoolController())
    await until(async () => expect((await theirs.get())?.status).toMatchObject({ replicas: 2, readyReplicas: 2 }));
});
