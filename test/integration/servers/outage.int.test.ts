import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, test } from 'vitest';
import type { KubeObject } from '../../../api/objects.ts';
import { Nodes, VirtualMachineInstances, VirtualMachinePools, VirtualMachines } from '../../../api/resources.ts';
import { NODE_LABEL } from '../../../clients/drain/read.ts';
import { RESTORED } from '../../../decisions/pool/on-record.ts';
import { watchRun } from '../../../workers/watch/cluster-watch.ts';
import { childSignals } from '../../../workers/watch/workflow-signals.ts';
import { pause, poolIdOf } from '../../../workflows/lib/messages.ts';
import { Opened } from '../../clients/dashboard/opened.ts';
import { follow, nowhere, outcomeOf, start } from '../../clients/drover.ts';
import { rolloutRequest } from '../../requests.ts';
import { soak } from '../../soak.ts';
import { startChaosProxy, type Fate } from '../chaos-proxy.ts';
import { aFleet, haltedTemplate, namesUpTo, until, type TestWorker } from '../fleet.ts';
import { aSecondLater, TestOperation } from '../operations/operations.ts';
import { backUpEtcd } from './etcd-backup.ts';

const fleet = aFleet({ ownStack: true, simulator: false, workers: 0 });
const VMS = soak(300, 40);
/** It makes one VM after another, at a slow API server: a kill comes in the middle, even on a fast machine. */
let worker: TestWorker;
let startWorker: () => Promise<TestWorker>;
beforeAll(async () => {
  const { kubeconfig, close } = await startChaosProxy(fleet().workerKubeconfig, async (method): Promise<Fate> => {
    if (method === 'POST') await sleep(60);
    return 'pass';
  });
  startWorker = () => fleet().startWorker({ KUBECONFIG: kubeconfig, DROVER_CONCURRENCY: '1' });
  worker = await startWorker();
  return close;
});

const growing = async (namespace: string, replicas: number, from: number): Promise<void> => {
  await fleet().createPool(namespace, 'web', { replicas });
  let there = 0;
  await until(async () => expect((there = (await fleet().vms(namespace)).length)).toBeGreaterThan(from));
  expect(there).toBeLessThan(replicas);
};

test('a pool continues where it was when Temporal is killed in the middle of a burst, and comes back', async () => {
  const namespace = await fleet().namespace();
  await growing(namespace, VMS, VMS / 4);
  fleet().stack.kill('temporal', 'SIGKILL');
  await fleet().stack.restart('temporal');
  await fleet().settled(namespace, 'web', namesUpTo('web', VMS));
});

test('every VM is created exactly once when the API server is killed in the middle of a burst and restarted', async () => {
  const namespace = await fleet().namespace();
  await growing(namespace, VMS, VMS / 4);
  fleet().stack.kill('kube-apiserver', 'SIGKILL');
  await fleet().stack.restart('kube-apiserver');
  await fleet().settled(namespace, 'web', namesUpTo('web', VMS));
  await fleet().patchPool(namespace, 'web', { replicas: 3 });
  await until(async () => expect(await fleet().vmNames(namespace, 'web')).toHaveLength(3));
});

test('a dashboard says that the API server is away, and then shows what has happened', async () => {
  const namespace = await fleet().namespace();
  await fleet().createPool(namespace, 'web', { replicas: 2 });
  await fleet().settled(namespace, 'web', namesUpTo('web', 2));
  await using page = await Opened.start(fleet().stack.kubeconfig, { namespace });
  const squares = (): unknown[] => [...(page.viewer.cells.get(`pool/${namespace}/web`)?.keys() ?? [])].toSorted();
  await until(async () => expect(squares()).toEqual(['web-1', 'web-2']));
  fleet().stack.kill('kube-apiserver', 'SIGKILL');
  await until(async () => expect(page.session).toMatchObject({ state: 'reconnecting', message: expect.any(String) }));
  expect(squares()).toEqual(['web-1', 'web-2']);
  await fleet().stack.restart('kube-apiserver');
  await fleet().patchPool(namespace, 'web', { replicas: 3 });
  await until(async () => expect(squares()).toEqual(['web-1', 'web-2', 'web-3']));
  await until(async () => expect(page.session).toMatchObject({ state: 'live', message: null }));
});

test('commands that follow a node and an operation go on once the API server is back', async () => {
  const { stack, kube } = fleet();
  const namespace = await fleet().namespace();
  const [vmi, node] = [{ namespace, name: 'web' }, `node-of-${namespace}`];
  await kube.create(Nodes, { metadata: { name: node } });
  const labels = { [NODE_LABEL]: node };
  await kube.create(VirtualMachineInstances, { metadata: { ...vmi, labels }, spec: { domain: { devices: {} } } });
  const operation = await TestOperation.make(kube, namespace, {
    action: 'Stop',
    vms: { selector: {} },
    paused: true,
  });
  const followed = [
    ['drain', 'status', node],
    ['operations', 'describe', operation.key.name, '-n', namespace],
  ].map((args) => {
    const command = start([...args, '--watch'], { ...nowhere, ...stack.env });
    return { outcome: outcomeOf(command), shows: follow(command.stdout!), notes: follow(command.stderr!) };
  });
  await followed[0]!.shows('1 VMI left');
  await followed[1]!.shows(operation.key.name);
  stack.kill('kube-apiserver', 'SIGKILL');
  await Promise.all(followed.map(({ notes }) => notes('the watch failed and is being restarted')));
  await stack.restart('kube-apiserver');
  await kube.delete(VirtualMachineInstances, vmi);
  await operation.delete();
  const [ofNode, ofOperation] = await Promise.all(followed.map(({ outcome }) => outcome));
  expect(ofNode).toMatchObject({ code: 0, stdout: expect.stringContaining(`no VMI is on node ${node}`) });
  expect(ofOperation).toMatchObject({ code: 1, stderr: expect.stringContaining('was deleted') });
});

test('an etcd that is restored under a running worker makes and deletes nothing, and the next change is seen in seconds', async () => {
  const { stack, kube } = fleet();
  const namespace = await fleet().namespace();
  await fleet().createPool(namespace, 'web', { replicas: 4 });
  await fleet().settled(namespace, 'web', namesUpTo('web', 4));
  const putBack = backUpEtcd(stack);
  const uids = await uidsOf(namespace);
  // What is lost: the workflow, and the worker's caches, have seen all of it.
  await fleet().patchPool(namespace, 'web', { replicas: 2 });
  await until(async () => expect(await fleet().vmNames(namespace, 'web')).toHaveLength(2));
  await fleet().patchPool(namespace, 'web', { replicas: 12 });
  await fleet().settled(namespace, 'web', namesUpTo('web', 12));
  await putBack();

  const { metadata, items } = await kube.list(VirtualMachines, { namespace });
  expect(Object.fromEntries(items.map((vm) => [vm.metadata.name, vm.metadata.uid]))).toEqual(uids);
  const log = join(stack.state, 'logs', `test-worker-${worker.pid}.log`);
  await until(async () => expect(readFileSync(log, 'utf8')).toContain('the API server was restored from a backup'));
  const changedAt = Date.now();
  await fleet().patchPool(namespace, 'web', { replicas: 5 });
  await fleet().settled(namespace, 'web', namesUpTo('web', 5));
  expect(Date.now() - changedAt).toBeLessThan(15_000);
  const told = await toldSince(namespace, metadata.resourceVersion);
  expect(told.filter(([type]) => type !== 'MODIFIED')).toEqual([['ADDED', 'web-5']]);
  expect(await uidsOf(namespace)).toMatchObject(uids);
});

test('a rollout that was in progress is paused when etcd is restored, which has forgotten that it was aborted', async () => {
  const { stack, kube } = fleet();
  const namespace = await fleet().namespace();
  const pool = await fleet().createPool(namespace, 'web', { replicas: 2 });
  await fleet().settled(namespace, 'web', namesUpTo('web', 2));
  const template = { ...haltedTemplate, metadata: { labels: { tier: 'new' } } };
  const rolloutIn = async () => (await fleet().pool(namespace, 'web'))!.status!.rollout!;
  const { revision } = await rolloutIn();
  const changed = await fleet().patchPool(namespace, 'web', { paused: true, template });
  await until(async () => expect((await rolloutIn()).revision).not.toBe(revision));
  const putBack = backUpEtcd(stack);
  const { annotations } = rolloutRequest(changed, 'abort', { by: 'admin' });
  await kube.patch(VirtualMachinePools, pool.metadata, 'merge', { metadata: { annotations } });
  await until(async () => expect((await rolloutIn()).halted).toMatchObject({ kind: 'Aborted' }));
  await putBack();
  await until(async () => expect((await rolloutIn()).paused).toMatchObject({ by: 'drover', reason: RESTORED }));
  expect(await rolloutIn()).not.toHaveProperty('halted');
});

/** The UIDs of the VMs, by name. */
const uidsOf = async (namespace: string): Promise<Record<string, string>> =>
  Object.fromEntries((await fleet().vms(namespace)).map(({ metadata }) => [metadata.name, metadata.uid]));

/** What has happened to VMs since that version. */
async function toldSince(namespace: string, resourceVersion: string): Promise<[type: string, vm: string][]> {
  const told: [string, string][] = [];
  const query = { resourceVersion, timeoutSeconds: '1' };
  const signal = AbortSignal.timeout(20_000);
  for await (const { type, object } of fleet().kube.watch<KubeObject>(VirtualMachines, { namespace, query, signal }))
    told.push([type, (object as KubeObject).metadata.name]);
  return told;
}

/** Resolves when the pool's workflow has written a status since: with as many replicas as the spec wants now. */
const grown = async (namespace: string, replicas: number): Promise<void> => {
  await fleet().patchPool(namespace, 'web', { replicas });
  await fleet().settled(namespace, 'web', namesUpTo('web', replicas));
};
const uids = async (namespace: string): Promise<string[]> =>
  (await fleet().vms(namespace)).map(({ metadata }) => metadata.uid).toSorted();

const watch = () => watchRun(fleet().temporal.client, 'default', undefined);
/** Resolves when the worker has ended because of what has become of Temporal. */
async function endsByItself(): Promise<void> {
  expect(await worker.ended).toBe(1);
  const log = readFileSync(join(fleet().stack.state, 'logs', `test-worker-${worker.pid}.log`), 'utf8');
  expect(log).toContain('Temporal was restored from a backup, or has lost its data: the worker ends');
}

test("a pause holds, and all VMs stay, when Temporal's database is restored to before it, and then lost", async () => {
  const namespace = await fleet().namespace();
  await fleet().createPool(namespace, 'web', { replicas: 2 });
  await fleet().settled(namespace, 'web', ['web-1', 'web-2']);
  const { stack, kube } = fleet();
  await kube.create(VirtualMachines, { metadata: { namespace, name: 'db' }, spec: haltedTemplate.spec });
  await aSecondLater();
  const operation = await TestOperation.make(kube, namespace, {
    action: 'Patch',
    vms: { names: ['db'] },
    patch: { merge: 'metadata: { labels: { tier: gold } }' },
    paused: true,
  });
  await operation.stands('Paused');
  const tier = async (): Promise<string | undefined> =>
    (await kube.get(VirtualMachines, { namespace, name: 'db' })).metadata.labels?.['tier'];
  const data = join(stack.state, 'data');
  const database = (): string[] =>
    readdirSync(data)
      .filter((name) => name.startsWith('temporal.db'))
      .map((name) => join(data, name));
  await stack.halt('temporal');
  const saved = database().map((file) => ({ file, content: readFileSync(file) }));
  await stack.restart('temporal');
  const { transitions } = (await watch())!;
  expect(await childSignals.lost(fleet().temporal.client, 'default', 0)).toEqual([]);
  const isPaused = async (): Promise<void> =>
    expect((await fleet().pool(namespace, 'web'))!.status?.rollout?.paused).toMatchObject({ by: 'ann' });
  await fleet()
    .temporal.client.workflow.getHandle(poolIdOf({ cluster: 'default', namespace, name: 'web' }))
    .signal(pause, { by: 'ann' });
  await until(isPaused);
  await operation.set({ paused: false });
  await operation.stands('Complete');
  expect(await tier()).toBe('gold');
  // What a person takes back is not done again.
  await kube.patch(VirtualMachines, { namespace, name: 'db' }, 'merge', { metadata: { labels: { tier: null } } });
  const { completionTime } = (await operation.read())!.status!;
  const isStillOver = async (): Promise<void> => {
    expect((await operation.read())!.status).toMatchObject({ completionTime });
    expect(await tier()).toBeUndefined();
  };

  // The worker looks every few seconds how often that count has gone up, and notices if it is lower than before.
  await until(async () => expect((await watch())?.transitions).toBeGreaterThan(transitions + 5));
  await stack.halt('temporal');
  for (const file of database()) rmSync(file);
  for (const { file, content } of saved) writeFileSync(file, content);
  await stack.restart('temporal');
  await endsByItself();
  worker = await startWorker();
  const before = await uids(namespace);
  await grown(namespace, 3);
  await isPaused();
  await isStillOver();
  expect(await uids(namespace)).toEqual(expect.arrayContaining(before));

  await stack.halt('temporal');
  for (const file of database()) rmSync(file);
  await stack.restart('temporal');
  await endsByItself();
  await fleet().setUp();
  worker = await startWorker();
  await grown(namespace, 4);
  await isPaused();
  await isStillOver();
  expect(await uids(namespace)).toEqual(expect.arrayContaining(before));
});

// The last test: it ends the worker.
test('the same worker continues when Temporal was away for longer than a signal is tried, with what changed meanwhile', async () => {
  const namespace = await fleet().namespace();
  await fleet().createPool(namespace, 'web', { replicas: 2 });
  await fleet().settled(namespace, 'web', ['web-1', 'web-2']);
  const workflow = fleet().temporal.client.workflow.getHandle(poolIdOf({ cluster: 'default', namespace, name: 'web' }));
  const last = { length: -1, at: 0 };
  await until(async () => {
    const { historyLength: length } = await workflow.describe();
    if (length !== last.length) Object.assign(last, { length, at: Date.now() });
    // Longer than the interval between signals: the watch of the API server sends the next one at once.
    expect(Date.now() - last.at).toBeGreaterThan(1_500);
  });

  await fleet().stack.halt('temporal');
  await fleet().patchPool(namespace, 'web', { replicas: 4 });
  const log = join(fleet().stack.state, 'logs', `test-worker-${worker.pid}.log`);
  await until(async () => expect(readFileSync(log, 'utf8')).toContain('a pool could not be signalled'));
  await fleet().stack.restart('temporal');
  await fleet().settled(namespace, 'web', ['web-1', 'web-2', 'web-3', 'web-4']);
  expect(await worker.stop()).toBe(0);
});
