import { expect, test } from 'vitest';
import { Revisions } from '../../../activities/rollout/revisions.ts';
import { REQUESTED_BY_ANNOTATION, CHANGE_CAUSE_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import { controllerOf, type KubeObject, type Stored } from '../../../api/objects.ts';
import type { PoolSpec } from '../../../api/pool/pool.ts';
import { requesterAnnotation } from '../../../api/requested-by.ts';
import { ControllerRevisions, VirtualMachinePools } from '../../../api/resources.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import type { Fate } from '../../integration/chaos-proxy.ts';
import { aFleet, haltedTemplate, until } from '../../integration/fleet.ts';
import { aWorkerCache, type WorkerCache } from '../cache/worker-cache.ts';

const cluster = aFleet({ simulator: false, workers: 0 });

interface TestWorker extends WorkerCache {
  revisions: Revisions;
}

async function aWorker(fate?: (method: string, path: string) => Fate): Promise<TestWorker> {
  const workerCache = await aWorkerCache(cluster().stack.kubeconfig, fate);
  await workerCache.cache.start();
  return { ...workerCache, revisions: new Revisions(workerCache) };
}
/** A worker whose watches report nothing after the first list. */
const aWorkerBehind = (): Promise<TestWorker> =>
  aWorker((_method, path) => (path.includes('watch=true') ? 'hang' : 'pass'));

const templateOf = (tier: string): PoolSpec['template'] => ({ ...haltedTemplate, metadata: { labels: { tier } } });
const ownerRef = ({ metadata: { namespace, name, uid } }: StoredPool) => ({ namespace, name, uid });
const nameFor = (tier: string): string => `web-${revisionOf(templateOf(tier))}`;

const createPool = async (namespace: string, tier = 'a'): Promise<StoredPool> =>
  (await cluster().createPool(namespace, 'web', { template: templateOf(tier) })) as unknown as StoredPool;

async function changed(pool: StoredPool, tier: string): Promise<StoredPool> {
  return (await cluster().patchPool(pool.metadata.namespace, 'web', {
    template: templateOf(tier),
  })) as unknown as StoredPool;
}

type Kept = Stored<KubeObject & { revision: number; data: unknown }>;
const kept = async (namespace: string): Promise<Kept[]> =>
  (await cluster().kube.list<Kept>(ControllerRevisions, { namespace })).items;
/** Revision numbers by name. */
const numbers = async (namespace: string): Promise<Record<string, number>> =>
  Object.fromEntries((await kept(namespace)).map(({ metadata, revision }) => [metadata.name, revision]));

const shows = ({ cache }: TestWorker, { metadata }: StoredPool, tiers: string[]): Promise<void> =>
  until(async () => {
    const newestFirst = cache.revisions.of(metadata).toSorted((a, b) => b.number - a.number);
    expect(newestFirst.map(({ revision }) => revision)).toEqual(tiers.map((tier) => revisionOf(templateOf(tier))));
  });

test("a pool's template is stored as it is, owned by the pool, with its author; then it costs no call", async () => {
  const namespace = await cluster().namespace();
  const worker = await aWorker();
  const pool = await createPool(namespace);
  const revision = revisionOf(templateOf('a'));
  expect(await worker.revisions.keep(pool)).toBe(true);
  const [object, ...others] = await kept(namespace);
  expect(others).toEqual([]);
  expect(object).toMatchObject({
    metadata: {
      name: `web-${revision}`,
      labels: { 'drover.dev/pool': 'web', 'drover.dev/revision': revision },
      annotations: { [REQUESTED_BY_ANNOTATION]: 'test' },
      ownerReferences: [
        {
          apiVersion: 'drover.dev/v1alpha1',
          kind: 'VirtualMachinePool',
          name: 'web',
          uid: pool.metadata.uid,
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    revision: 1,
    data: { template: templateOf('a') },
  });
  expect(object!.metadata.annotations).not.toHaveProperty(CHANGE_CAUSE_ANNOTATION);

  await shows(worker, pool, ['a']);
  expect(worker.cache.revisions.of(pool.metadata)[0]).toMatchObject({
    namespace,
    revision,
    number: 1,
    template: templateOf('a'),
    requestedBy: 'test',
    changeCause: null,
  });
  const calls = worker.calls.length;
  expect(await worker.revisions.keep(pool)).toBe(true);
  expect(worker.calls.length).toBe(calls);
});

test('an earlier template is found again, gets the highest number and names who restored it', async () => {
  const namespace = await cluster().namespace();
  const worker = await aWorker();
  const first = await createPool(namespace);
  await worker.revisions.keep(first);
  const second = await changed(first, 'b');
  await worker.revisions.keep(second);
  expect(await numbers(namespace)).toEqual({ [nameFor('a')]: 1, [nameFor('b')]: 2 });
  const [before] = (await kept(namespace)).filter(({ metadata }) => metadata.name === nameFor('a'));

  const annotations = { [REQUESTED_BY_ANNOTATION]: 'anna', [CHANGE_CAUSE_ANNOTATION]: 'b was slow' };
  const requested = {
    ...annotations,
    [REQUESTED_BY_ANNOTATION]: requesterAnnotation('anna', revisionOf(templateOf('a'))),
  };
  await cluster().kube.patch(VirtualMachinePools, first.metadata, 'merge', { metadata: { annotations: requested } });
  await worker.revisions.keep(await changed(first, 'a'));
  expect(await numbers(namespace)).toEqual({ [nameFor('a')]: 3, [nameFor('b')]: 2 });
  const [after] = (await kept(namespace)).filter(({ metadata }) => metadata.name === nameFor('a'));
  expect(after!.metadata).toMatchObject({ uid: before!.metadata.uid, annotations });
  await shows(worker, first, ['a', 'b']);
  for (const tier of ['a', 'b'])
    expect(await worker.revisions.find(ownerRef(first), revisionOf(templateOf(tier)))).toEqual(templateOf(tier));
});

test('a template that the pool no longer has does not become the newest again through a worker that saw it last', async () => {
  const namespace = await cluster().namespace();
  const [behind, other] = await Promise.all([aWorkerBehind(), aWorker()]);
  const first = await createPool(namespace);
  await other.revisions.keep(first);
  await other.revisions.keep(await changed(first, 'b'));
  expect(await behind.revisions.keep(first)).toBe(false);
  expect(await numbers(namespace)).toEqual({ [nameFor('a')]: 1, [nameFor('b')]: 2 });
});

test('the revision names the field manager that wrote the template, not one that wrote other fields later', async () => {
  const namespace = await cluster().namespace();
  const { revisions } = await aWorker();
  const pool = await createPool(namespace);
  const requested = { [REQUESTED_BY_ANNOTATION]: requesterAnnotation('anna', revisionOf(pool.spec.template)) };
  await cluster().kube.patch(VirtualMachinePools, pool.metadata, 'merge', { metadata: { annotations: requested } });
  const edited = { spec: { template: templateOf('b') } };
  await cluster().kube.patch(VirtualMachinePools, pool.metadata, 'merge', edited, { fieldManager: 'kubectl-edit' });
  const scaled = await cluster().kube.patch(
    VirtualMachinePools,
    pool.metadata,
    'merge',
    { spec: { replicas: 2 } },
    { fieldManager: 'hpa' },
  );
  await revisions.keep(scaled as unknown as StoredPool);
  expect((await kept(namespace))[0]!.metadata.annotations).toEqual({ [REQUESTED_BY_ANNOTATION]: 'kubectl-edit' });
});

test('workers that store the same template at once make one object, and raise its number once', async () => {
  const namespace = await cluster().namespace();
  const workers = await Promise.all([aWorkerBehind(), aWorkerBehind(), aWorkerBehind()]);
  const keep = (pool: StoredPool): Promise<boolean[]> =>
    Promise.all([...workers, ...workers].map(({ revisions }) => revisions.keep(pool)));
  const first = await createPool(namespace);
  expect(new Set(await keep(first))).toEqual(new Set([true]));
  expect(await numbers(namespace)).toEqual({ [nameFor('a')]: 1 });
  await keep(await changed(first, 'b'));
  await keep(await changed(first, 'a'));
  expect(await numbers(namespace)).toEqual({ [nameFor('a')]: 3, [nameFor('b')]: 2 });
  expect(workers.flatMap(({ calls }) => calls).filter((call) => call.startsWith('POST')).length).toBeGreaterThan(2);
});

test('a creation whose answer was lost is not done twice', async () => {
  const namespace = await cluster().namespace();
  let lost = 0;
  const { revisions } = await aWorker((method) => (method === 'POST' && lost++ === 0 ? 'drop-answer' : 'pass'));
  const pool = await createPool(namespace);
  await expect(revisions.keep(pool)).rejects.toThrow();
  await revisions.keep(pool);
  expect(await numbers(namespace)).toEqual({ [nameFor('a')]: 1 });
});

test("the remains of an earlier pool of the name are neither found nor kept as the pool's own", async () => {
  const namespace = await cluster().namespace();
  const worker = await aWorker();
  const earlier = await createPool(namespace);
  await worker.revisions.keep(earlier);
  await worker.revisions.keep(await changed(earlier, 'b'));
  // No garbage collector runs here: the revisions stay.
  await cluster().kube.delete(VirtualMachinePools, earlier.metadata);
  const pool = await createPool(namespace, 'b');
  const left = await kept(namespace);

  expect(await worker.revisions.find(ownerRef(pool), revisionOf(templateOf('a')))).toBeUndefined();
  await worker.revisions.keep(pool);
  const [own, ...others] = (await kept(namespace)).filter(({ metadata }) => metadata.name === nameFor('b'));
  expect(others).toEqual([]);
  expect(controllerOf(own!)?.uid).toBe(pool.metadata.uid);
  expect(own!.revision).toBe(1);
  expect(left.map(({ metadata }) => metadata.uid)).not.toContain(own!.metadata.uid);
});

test("another kind's ControllerRevision under the name is left alone, and reported", async () => {
  const namespace = await cluster().namespace();
  const { revisions } = await aWorker();
  const pool = await createPool(namespace);
  const ownerReferences = [
    { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'web', uid: 'some-uid', controller: true },
  ];
  await cluster().kube.create<KubeObject>(ControllerRevisions, {
    metadata: { namespace, name: nameFor('a'), ownerReferences },
    revision: 7,
    data: {},
  });
  await expect(revisions.keep(pool)).rejects.toThrow(
    `ControllerRevision ${namespace}/${nameFor('a')} is taken: it belongs to StatefulSet web`,
  );
  expect(await numbers(namespace)).toEqual({ [nameFor('a')]: 7 });
});

test('labels that a user removed come back', async () => {
  const namespace = await cluster().namespace();
  const worker = await aWorker();
  const pool = await createPool(namespace);
  await worker.revisions.keep(pool);
  await shows(worker, pool, ['a']);
  await cluster().kube.patch(ControllerRevisions, { namespace, name: nameFor('a') }, 'merge', {
    metadata: { labels: null },
  });
  await shows(worker, pool, []);
  await worker.revisions.keep(pool);
  await shows(worker, pool, ['a']);
  expect(await numbers(namespace)).toEqual({ [nameFor('a')]: 1 });
});

test("a revision is found if the watch is behind, and the pool's template even if it is not stored", async () => {
  const namespace = await cluster().namespace();
  const pool = await createPool(namespace);
  const behind = await aWorkerBehind();
  const revision = revisionOf(templateOf('a'));
  expect(await behind.revisions.find(ownerRef(pool), revision)).toEqual(templateOf('a'));
  expect(await behind.revisions.find({ ...ownerRef(pool), uid: 'another' }, revision)).toBeUndefined();

  const { revisions } = await aWorker();
  await revisions.keep(await changed(pool, 'b'));
  expect(behind.cache.revisions.of(pool.metadata)).toEqual([]);
  expect(await behind.revisions.find(ownerRef(pool), revisionOf(templateOf('b')))).toEqual(templateOf('b'));
  expect(
    await behind.revisions.find({ ...ownerRef(pool), uid: 'another' }, revisionOf(templateOf('b'))),
  ).toBeUndefined();
  expect(await behind.revisions.find(ownerRef(pool), 'unheard-of')).toBeUndefined();
});

/** A pool that had the templates a to e, in this order. */
async function withHistory(namespace: string, { revisions }: TestWorker): Promise<StoredPool> {
  let pool = await createPool(namespace);
  await revisions.keep(pool);
  for (const tier of ['b', 'c', 'd', 'e']) {
    pool = await changed(pool, tier);
    await revisions.keep(pool);
  }
  return pool;
}

/** Has the pool keep no revision that nothing uses. */
const keepNone = (namespace: string): Promise<unknown> =>
  cluster().patchPool(namespace, 'web', { revisionHistoryLimit: 0 });

test("the named revisions that the pool no longer wants are deleted, and no other pool's", async () => {
  const namespace = await cluster().namespace();
  const worker = await aWorker();
  const pool = await withHistory(namespace, worker);
  await shows(worker, pool, ['e', 'd', 'c', 'b', 'a']);
  await worker.revisions.prune(ownerRef(pool), ['b', 'c'].map(nameFor));
  expect(await kept(namespace)).toHaveLength(5);
  await keepNone(namespace);
  await worker.revisions.prune({ ...ownerRef(pool), uid: 'another' }, ['b', 'c'].map(nameFor));
  expect(await kept(namespace)).toHaveLength(5);
  await worker.revisions.prune(ownerRef(pool), [...['b', 'c'].map(nameFor), 'unheard-of']);
  await shows(worker, pool, ['e', 'd', 'a']);
  await worker.revisions.prune(ownerRef(pool), ['b', 'c'].map(nameFor));
  expect(await kept(namespace)).toHaveLength(3);
});

test('a worker that is behind deletes no revision that became the newest again', async () => {
  const namespace = await cluster().namespace();
  const worker = await aWorker();
  const pool = await withHistory(namespace, worker);
  const behind = await aWorkerBehind();
  await keepNone(namespace);
  await worker.revisions.keep(await changed(pool, 'a'));
  await worker.client.delete(ControllerRevisions, { namespace, name: nameFor('b') });
  await behind.revisions.prune(ownerRef(pool), ['a', 'b', 'c'].map(nameFor));
  expect(Object.keys(await numbers(namespace)).toSorted()).toEqual(['a', 'd', 'e'].map(nameFor).toSorted());
});
