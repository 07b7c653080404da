import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, onTestFinished, test } from 'vitest';
import { ClusterCache } from '../../../activities/cache/cluster-cache.ts';
import { DisruptionClaims } from '../../../activities/disruption-budget/disruption-claims.ts';
import { createPoolActivities } from '../../../activities/pool/pool.ts';
import { Revisions } from '../../../activities/rollout/revisions.ts';
import { POOL_FINALIZER } from '../../../api/labels-and-annotations.ts';
import { VirtualMachinePools, VirtualMachines } from '../../../api/resources.ts';
import { vmFromTemplate } from '../../../decisions/template/vm-from-template.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import { KubeClient } from '../../../kubernetes/client.ts';
import { loadKubeConfig } from '../../../kubernetes/config.ts';
import { chaosProxy } from '../../integration/chaos-proxy.ts';
import { aFleet } from '../../integration/fleet.ts';
import { idInDefault } from '../cache/worker-cache.ts';

const fleet = aFleet({ simulator: false, workers: 0 });

/**
 * The activities of a worker whose watches report nothing after the first list. `meanwhile`: what happens while a plan
 * expands the templates.
 */
async function behindTheTimes(
  meanwhile?: (cache: ClusterCache) => Promise<void>,
): Promise<Pick<ReturnType<typeof createPoolActivities>, 'plan'>> {
  const proxy = await chaosProxy(fleet().workerKubeconfig, (_method, path) =>
    path.includes('watch=true') ? 'hang' : 'pass',
  );
  const client = new KubeClient(loadKubeConfig({ kubeconfig: proxy.kubeconfig }));
  const snapshot = new ClusterCache({ client });
  await snapshot.start();
  onTestFinished(async () => {
    await snapshot.stop();
    await client.close();
  });
  const revisions = new Revisions({ client, cache: snapshot });
  const expandAll = revisions.expandAll.bind(revisions);
  revisions.expandAll = async (pool) => {
    await expandAll(pool);
    await meanwhile?.(snapshot);
  };
  const activities = createPoolActivities({
    claims: new DisruptionClaims(client, snapshot),
    client,
    cache: snapshot,
    revisions,
    ownerIdOf: idInDefault,
    burst: 250,
    concurrency: 8,
  });
  type Plan = ReturnType<typeof activities.plan>;
  return {
    plan: (request) => {
      const workflowExecution = { workflowId: idInDefault('VirtualMachinePool', request), runId: 'run' };
      const environment = new MockActivityEnvironment({ isLocal: true, workflowExecution });
      return environment.run(() => activities.plan(request)) as Plan;
    },
  };
}

const request = (namespace: string, minVersions = {}, resultUnknown = false) => ({
  namespace,
  name: 'web',
  minVersions,
  resultUnknown,
  inProgress: { creating: [], deleting: [] },
  backoffs: {},
  batches: [],
  batchesNotBefore: 0,
  turn: 0,
  now: Date.now(),
});

test('a plan is never older than the last write: it lists if its watch is behind', async () => {
  const namespace = await fleet().namespace();
  const pool = await fleet().createPool(namespace, 'web', { replicas: 2 });
  const worker = await behindTheTimes();
  const held = await fleet().kube.patch(VirtualMachinePools, pool.metadata, 'merge', {
    metadata: { finalizers: [POOL_FINALIZER] },
  });
  const pools = held.metadata.resourceVersion;
  expect(await worker.plan(request(namespace, { pools }))).toMatchObject({
    steps: [{ kind: 'create', numbers: [1, 2] }],
  });

  const stored = (await fleet().pool(namespace, 'web')) as unknown as StoredPool;
  const { metadata } = await fleet().kube.create(VirtualMachines, vmFromTemplate(stored, stored.spec.template, 1));
  expect(await worker.plan(request(namespace, { pools, vms: metadata.resourceVersion }))).toMatchObject({
    steps: [{ kind: 'create', numbers: [2] }],
  });
});

test('a plan lists again after a step whose outcome is unknown', async () => {
  const namespace = await fleet().namespace();
  const pool = await fleet().createPool(namespace, 'web', { replicas: 1 });
  const worker = await behindTheTimes();
  const held = await fleet().kube.patch(VirtualMachinePools, pool.metadata, 'merge', {
    metadata: { finalizers: [POOL_FINALIZER] },
  });
  const pools = held.metadata.resourceVersion;
  const stored = held as unknown as StoredPool;
  await fleet().kube.create(VirtualMachines, vmFromTemplate(stored, stored.spec.template, 1));
  expect(await worker.plan(request(namespace, { pools }))).toMatchObject({ steps: [{ kind: 'create', numbers: [1] }] });
  // Nothing is left to create. The test has not kept the template that it created the VM from.
  expect(await worker.plan(request(namespace, { pools }, true))).toMatchObject({ steps: [{ kind: 'createRevision' }] });
});

test('an extra VM that comes while a plan is made is no replica, though its pool has yet to be heard of', async () => {
  const namespace = await fleet().namespace();
  const { metadata } = await fleet().createPool(namespace, 'web', { replicas: 1 });
  const held = await fleet().kube.patch(VirtualMachinePools, metadata, 'merge', {
    metadata: { finalizers: [POOL_FINALIZER] },
  });
  let isMade = false;
  const worker = await behindTheTimes(async (cache) => {
    if (isMade) return;
    isMade = true;
    const pool = held as unknown as StoredPool;
    const status = { roles: [{ vm: 'web-2', role: 'Surge', at: new Date().toISOString() }] };
    await fleet().kube.patch(VirtualMachinePools, metadata, 'merge', { status }, { subresource: 'status' });
    await fleet().kube.create(VirtualMachines, vmFromTemplate(pool, pool.spec.template, 2, 'Surge'));
    await cache.vms.relist({ namespace });
  });
  const plan = await worker.plan(request(namespace, { pools: held.metadata.resourceVersion }));
  expect(plan).toMatchObject({ steps: expect.arrayContaining([expect.objectContaining({ numbers: [1] })]) as unknown });
});

test('a pool that the watch does not show yet is not taken for gone', async () => {
  const namespace = await fleet().namespace();
  const worker = await behindTheTimes();
  expect(await worker.plan(request(namespace))).toEqual({ gone: true });
  await fleet().createPool(namespace, 'web');
  expect(await worker.plan(request(namespace))).toMatchObject({ gone: false, steps: [{ kind: 'addFinalizer' }] });
});

test('a plan has its healing state once: it writes its status, and does not return it', async () => {
  const namespace = await fleet().namespace();
  const pool = await fleet().createPool(namespace, 'web', { autohealing: {} });
  const worker = await behindTheTimes();
  const plan = await worker.plan(request(namespace, { pools: pool.metadata.resourceVersion }));
  expect(plan).toMatchObject({ written: { isWritten: true }, healing: { state: { cycles: [], finished: [] } } });
  expect(plan).not.toHaveProperty('status');
  expect((await fleet().pool(namespace, 'web'))!.status).toMatchObject({ healing: {}, writes: 1 });
});
