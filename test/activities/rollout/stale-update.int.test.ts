import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, test } from 'vitest';
import { DisruptionClaims } from '../../../activities/disruption-budget/disruption-claims.ts';
import { ActsOfWaves } from '../../../activities/disruption/acts-of-waves.ts';
import { Revisions } from '../../../activities/rollout/revisions.ts';
import type { Updated } from '../../../activities/rollout/update-request.ts';
import { createUpdateActivities } from '../../../activities/rollout/update-vms.ts';
import type { KubeObject, Stored } from '../../../api/objects.ts';
import type { PoolSpec } from '../../../api/pool/pool.ts';
import { ControllerRevisions, VirtualMachinePools, VirtualMachines } from '../../../api/resources.ts';
import type { VirtualMachine } from '../../../decisions/from-object/vm.ts';
import type { UpdateOutcome } from '../../../decisions/owners/batch.ts';
import { newRolloutState } from '../../../decisions/rollout/state/state.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import { vmFromTemplate } from '../../../decisions/template/vm-from-template.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import { aFleet, haltedTemplate } from '../../integration/fleet.ts';
import { aWorkerCache } from '../cache/worker-cache.ts';

const cluster = aFleet({ simulator: false, workers: 0 });

const templateOf = (tier: string): PoolSpec['template'] => ({ ...haltedTemplate, metadata: { labels: { tier } } });
const [OLD, NEW, NEWER] = ['old', 'new', 'newer'].map((tier) => revisionOf(templateOf(tier))) as [
  string,
  string,
  string,
];

interface Scene {
  pool: StoredPool;
  /** `web-1`, of the old revision. */
  vm: Stored<VirtualMachine>;
  /** Resumes a worker that was suspended in its batch to the new revision, and still sees the pool as it was then. */
  goOn: () => Promise<Updated>;
}

async function suspended(): Promise<Scene> {
  const namespace = await cluster().namespace();
  const created = (await cluster().createPool(namespace, 'web', {
    template: templateOf('old'),
  })) as unknown as StoredPool;
  const vm = await cluster().kube.create<VirtualMachine>(
    VirtualMachines,
    vmFromTemplate(created, created.spec.template, 1),
  );
  await cluster().patchPool(namespace, 'web', { template: templateOf('new') });
  const rollout = { ...newRolloutState(NEW, new Date().toISOString()), inFlight: [1] };
  const pool = await cluster().kube.patch<StoredPool & KubeObject>(
    VirtualMachinePools,
    { namespace, name: 'web' },
    'merge',
    { status: { replicas: 1, rollout } },
    { subresource: 'status' },
  );
  const workerCache = await aWorkerCache(cluster().stack.kubeconfig, (_method, path) =>
    path.includes('watch=true') ? 'hang' : 'pass',
  );
  await workerCache.cache.start();
  const { updateVms } = createUpdateActivities({
    ...workerCache,
    claims: new DisruptionClaims(workerCache.client, workerCache.cache),
    revisions: new Revisions(workerCache),
    concurrency: 8,
    acts: new ActsOfWaves(128),
    stopping: new AbortController().signal,
  });
  const held = { name: 'web-1', uid: vm.metadata.uid, act: 'write', from: OLD, wasDown: false } as const;
  const key = { namespace, name: 'web', uid: pool.metadata.uid };
  const batch = { key, n: 1, revision: NEW, rollout: NEW, vms: [held], startedAt: Date.now() };
  const request = { ...batch, begun: [], minReadyMs: 0, deadlineMs: 60_000, mayFail: null, minVersions: {} };
  return { pool, vm, goOn: () => new MockActivityEnvironment().run(() => updateVms(request)) };
}

const outcome = async ({ goOn }: Scene): Promise<UpdateOutcome[]> => (await goOn()).outcomes;
const now = ({ vm }: Scene): Promise<Stored<VirtualMachine>> =>
  cluster().kube.get<VirtualMachine>(VirtualMachines, vm.metadata);
const revisionsOf = async ({ pool }: Scene): Promise<string[]> =>
  (await cluster().kube.list<KubeObject>(ControllerRevisions, { namespace: pool.metadata.namespace })).items.map(
    ({ metadata }) => metadata.name,
  );

test('a suspended worker writes the revision of its batch while that is still wanted', async () => {
  const context = await suspended();
  expect(await outcome(context)).toEqual([{ vm: 'web-1', end: 'Updated' }]);
  expect((await now(context)).metadata.labels).toMatchObject({ 'drover.dev/revision': NEW, tier: 'new' });
});

test('a suspended worker leaves alone a VM whose pool has got a newer template, and stores no older one as the newest', async () => {
  const context = await suspended();
  await cluster().patchPool(context.pool.metadata.namespace, 'web', { template: templateOf('newer') });
  expect(await outcome(context)).toMatchObject([{ vm: 'web-1', end: 'Deferred' }]);
  expect((await now(context)).metadata.resourceVersion).toBe(context.vm.metadata.resourceVersion);
  expect(await revisionsOf(context)).toEqual([]);
});

test('a suspended worker leaves alone a VM that a newer batch has written', async () => {
  const context = await suspended();
  const labels = { 'drover.dev/revision': NEWER, tier: 'newer' };
  const newer = await cluster().kube.patch(VirtualMachines, context.vm.metadata, 'merge', {
    metadata: { labels },
    spec: { template: { metadata: { labels } } },
  });
  expect(await outcome(context)).toEqual([
    { vm: 'web-1', end: 'Deferred', message: `its spec now has revision ${NEWER}` },
  ]);
  expect((await now(context)).metadata.resourceVersion).toBe(newer.metadata.resourceVersion);
});

test('a suspended worker does nothing for a pool that is gone', async () => {
  const context = await suspended();
  await cluster().kube.delete(VirtualMachinePools, context.pool.metadata);
  expect(await outcome(context)).toEqual([{ vm: 'web-1', end: 'Gone' }]);
});
