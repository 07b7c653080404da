import { expect, test } from 'vitest';
import type { KubeObject } from '../../../api/objects.ts';
import type { OperationStatus } from '../../../api/operations/operation.ts';
import { ClusterVirtualMachineDisruptionBudgets, ClusterVirtualMachineOperations } from '../../../api/resources.ts';
import { poolIdOf } from '../../../workflows/lib/messages.ts';
import { drover, nowhere } from '../../clients/drover.ts';
import { aFleet, runningTemplate, until } from '../fleet.ts';
import { namespacesOfShards } from '../namespaces-of-shards.ts';

const fleet = aFleet({ workers: 1, ownStack: true });

const divide = async (shards: number): Promise<void> =>
  expect(await drover(['setup', '--shards', String(shards)], { ...nowhere, ...fleet().stack.env })).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(`started, with ${shards} ${shards === 1 ? 'shard' : 'shards'}`),
  });

const templateOf = (cores: number) => {
  const { spec } = structuredClone(runningTemplate);
  Object.assign(spec.template.spec!['domain'] as object, { cpu: { cores } });
  return { spec };
};

async function queueOf(namespace: string): Promise<string> {
  const id = poolIdOf({ cluster: 'default', namespace, name: 'web' });
  return (await fleet().temporal.client.workflow.getHandle(id).describe()).taskQueue;
}

const isUpdated = (namespace: string) =>
  until(async () => {
    const { metadata, status } = (await fleet().pool(namespace, 'web'))!;
    expect(status).toMatchObject({ observedGeneration: metadata.generation, updatedReplicas: 3, readyReplicas: 3 });
  });

async function restartAll(name: string): Promise<void> {
  const spec = { action: 'Restart', vms: { selector: {} }, atOnce: 2, maxFailures: 0, deadline: '5m' };
  await fleet().kube.create(ClusterVirtualMachineOperations, { metadata: { name }, spec });
}

const isRestarted = (name: string) =>
  until(async () => {
    const { status } = await fleet().kube.get<KubeObject & { status?: OperationStatus }>(
      ClusterVirtualMachineOperations,
      { name },
    );
    expect(status).toMatchObject({ vms: { done: 6, open: 0 } });
  });

test('a cluster is divided into two shards under a rollout, and made one again: each pool continues on its own queue', async () => {
  const [former] = [await fleet().worker()];
  const namespaces = await namespacesOfShards(fleet());
  for (const namespace of namespaces)
    await fleet().createPool(namespace, 'web', { replicas: 3, maxUnavailable: 1, template: templateOf(1) });
  await Promise.all(namespaces.map(isUpdated));

  for (const namespace of namespaces) await fleet().patchPool(namespace, 'web', { template: templateOf(2) });
  await divide(2);
  const workers = await Promise.all(
    ['0', '1', 'cluster'].map((takes) => fleet().startWorker({ DROVER_SHARDS: '2', DROVER_TAKES: takes })),
  );
  await former.stop();
  await Promise.all(namespaces.map(isUpdated));
  await until(async () =>
    expect(await Promise.all(namespaces.map(queueOf))).toEqual(['drover/default/0-of-2', 'drover/default/1-of-2']),
  );
  await restartAll('divided');
  await isRestarted('divided');

  // Workers that know one shard begin anew, to count all VMs.
  const spec = { selector: {}, maxUnavailable: 1 };
  await fleet().kube.create(ClusterVirtualMachineDisruptionBudgets, { metadata: { name: 'all' }, spec });
  for (const namespace of namespaces) await fleet().patchPool(namespace, 'web', { template: templateOf(3) });
  await Promise.all(namespaces.map(isUpdated));
  await restartAll('counted');
  await isRestarted('counted');
  await fleet().kube.delete(ClusterVirtualMachineDisruptionBudgets, { name: 'all' });

  for (const namespace of namespaces) await fleet().patchPool(namespace, 'web', { template: templateOf(4) });
  await divide(1);
  // What is on the queues of the shards is polled by the worker that takes everything.
  for (const worker of workers) await worker.stop();
  await fleet().startWorker();
  await Promise.all(namespaces.map(isUpdated));
  await until(async () => expect(await Promise.all(namespaces.map(queueOf))).toEqual(Array(2).fill('drover/default')));
  await restartAll('one');
  await isRestarted('one');
});
