import { MockActivityEnvironment } from '@temporalio/testing';
import { describe, expect, test } from 'vitest';
import { createReleaseActivities } from '../../../activities/members/release-vms.ts';
import type { Done } from '../../../activities/owners/done.ts';
import { createAdoptionActivities } from '../../../activities/replica-sets/adopt-vms.ts';
import type { ReplicaSetKey } from '../../../activities/replica-sets/replica-set-request.ts';
import { ORPHAN_FINALIZER } from '../../../api/labels-and-annotations.ts';
import { controllerOf, type OwnerReference, type Stored } from '../../../api/objects.ts';
import { OWNER_KINDS, type SetKind } from '../../../api/owner-kinds.ts';
import { ownerReference } from '../../../decisions/template/vm-from-template.ts';
import { aFleet, until } from '../../integration/fleet.ts';
import { KINDS, TestSets, uidsOf } from '../../integration/replica-sets/sets.ts';
import { aWorkerCache } from '../cache/worker-cache.ts';

const cluster = aFleet({ simulator: false, workers: 0 });

/** A controller that is none of drover's. */
const OTHER: OwnerReference = {
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  name: 'other',
  uid: 'other-uid',
  controller: true,
};

describe.each(KINDS)('%s', (_, kind) => {
  const setKind = kind.sets.kind as SetKind;
  const { cache: members } = OWNER_KINDS[setKind].members;
  const { cache: owners } = OWNER_KINDS[setKind];

  const own = ({ metadata }: Stored): OwnerReference =>
    ownerReference(setKind, { ...metadata, namespace: metadata.namespace! });

  /** Has a worker adopt or release a member as it was seen, before it came to have these labels and owners. */
  async function afterwards(
    step: 'adopt' | 'release',
    now: (set: Stored) => { labels: Record<string, string>; ownerReferences?: OwnerReference[] },
    meanwhile: (set: Stored) => Promise<void> = async () => {},
  ): Promise<{ done: Done; set: Stored; before: Stored; after: Stored }> {
    const { kube } = cluster();
    const namespace = await cluster().namespace();
    const set = await new TestSets(cluster, kind).create(namespace, 'web', { replicas: 1 });
    const { metadata, spec: template } = kind.idle('web');
    const before = await kube.create(kind.members, {
      metadata: { ...metadata, namespace, name: 'one', ...now(set) },
      spec: template,
    });
    await meanwhile(set);
    const workerCache = await aWorkerCache(cluster().stack.kubeconfig);
    await workerCache.cache.start();
    const { name, uid } = before.metadata;
    const key: ReplicaSetKey = { kind: setKind, namespace, name: 'web', uid: set.metadata.uid };
    const { adoptVms } = createAdoptionActivities({ ...workerCache, concurrency: 8 });
    const { releaseVms } = createReleaseActivities({ ...workerCache, concurrency: 8 });
    const targets = [{ name, uid, resourceVersion: '1' }];
    const done = (await new MockActivityEnvironment().run(() =>
      step === 'adopt' ? adoptVms(key, targets) : releaseVms(key, targets, 'Unmatched'),
    )) as Done;
    return { done, set, before, after: await kube.get(kind.members, before.metadata) };
  }

  test.each([
    ['whose labels match again', 'release', (set: Stored) => ({ labels: { app: 'web' }, ownerReferences: [own(set)] })],
    ['that has been released', 'release', () => ({ labels: { app: 'other' } })],
    ['that another controller has taken', 'release', () => ({ labels: { app: 'other' }, ownerReferences: [OTHER] })],
    ['that another controller has', 'adopt', () => ({ labels: { app: 'web' }, ownerReferences: [OTHER] })],
    ['whose labels no longer match', 'adopt', () => ({ labels: { app: 'other' } })],
  ] as const)(
    'a member that is %s by now is left as it is, and the next plan has seen that: %s',
    async (_why, step, now) => {
      const { done, set, before, after } = await afterwards(step, now);
      expect(after.metadata).toEqual(before.metadata);
      expect(done).toMatchObject({
        refused: null,
        minVersions: { [members]: before.metadata.resourceVersion, [owners]: set.metadata.resourceVersion },
      });
    },
  );

  test('a matching member without a controller is adopted, and keeps its other owners', async () => {
    const owner = { ...OTHER, controller: false };
    const { done, set, after } = await afterwards('adopt', () => ({
      labels: { app: 'web' },
      ownerReferences: [owner],
    }));
    expect(after.metadata.ownerReferences).toEqual([owner, own(set)]);
    expect(done).toMatchObject({ count: 1, minVersions: { [members]: after.metadata.resourceVersion } });
  });

  test('a set that is being deleted adopts nothing, with its members or without', async () => {
    const { kube } = cluster();
    for (const propagationPolicy of ['Background', 'Orphan'] as const) {
      const { before, after } = await afterwards(
        'adopt',
        () => ({ labels: { app: 'web' } }),
        async ({ metadata }) => {
          const held = { metadata: { finalizers: ['test.drover.dev/hold'] } };
          await kube.patch(kind.sets, metadata, 'merge', held);
          await kube.delete(kind.sets, metadata, { propagationPolicy });
        },
      );
      expect(after.metadata).toEqual(before.metadata);
    }
  });
});

// No garbage collector runs here: that of Kubernetes may be as late as it likes.
test('members of a set that is deleted without them are released before Kubernetes has looked at them, and stay', async () => {
  const { kube } = cluster();
  const worker = await cluster().startWorker();
  const namespace = await cluster().namespace();
  await Promise.all(
    KINDS.map(async ([, kind]) => {
      const sets = new TestSets(cluster, kind);
      const { metadata } = await sets.create(namespace, 'web', { replicas: 3, template: kind.idle('web') });
      const members = await sets.settled(namespace, 'web', 3);
      await kube.delete(kind.sets, metadata, { propagationPolicy: 'Orphan' });
      await until(async () =>
        expect((await sets.get(namespace, 'web'))!.metadata.finalizers).toEqual([ORPHAN_FINALIZER]),
      );
      const { items: left } = await kube.list(kind.members, { namespace });
      expect(uidsOf(left)).toEqual(uidsOf(members));
      expect(left.map((one) => [controllerOf(one), one.metadata.deletionTimestamp])).toEqual(
        left.map(() => [undefined, undefined]),
      );
    }),
  );
  await worker.stop();
});
