import { expect, test } from 'vitest';
import { VirtualMachineInstances, VirtualMachines } from '../../../api/resources.ts';
import { healVmIdOf, taskQueueOf, updateBatchIdOf } from '../../../workflows/lib/messages.ts';
import { aFleet, namesUpTo, runningTemplate, until } from '../fleet.ts';

const fleet = aFleet();

test('a user who starts a workflow of a pool by hand has none of its VMs replaced, restarted or deleted', async () => {
  const namespace = await fleet().namespace();
  const autohealing = { startupFailureThreshold: 1 };
  await fleet().createPool(namespace, 'web', { replicas: 2, autohealing, template: runningTemplate });
  await fleet().settled(namespace, 'web', namesUpTo('web', 2));
  await until(async () => expect((await fleet().pool(namespace, 'web'))?.status).toMatchObject({ readyReplicas: 2 }));
  const all = async (): Promise<string[]> => {
    const lists = await Promise.all(
      [VirtualMachines, VirtualMachineInstances].map((kind) => fleet().kube.list(kind, { namespace })),
    );
    return lists.flatMap(({ items }) => items.map(({ metadata }) => metadata.uid)).toSorted();
  };
  const before = await all();
  const { metadata } = (await fleet().pool(namespace, 'web'))!;
  const vm = await fleet().kube.get(VirtualMachines, { namespace, name: 'web-1' });

  const ref = { cluster: 'default', namespace, name: 'web' };
  const key = { kind: 'VirtualMachinePool', namespace, name: 'web', uid: metadata.uid };
  const startedAt = new Date().toISOString();
  const target = { name: 'web-1', uid: vm.metadata.uid };
  const unhealthyVm = {
    ...target,
    attempt: 1,
    message: 'made up',
    rules: {},
    mayHaveData: false,
    earlyExits: 9,
    failingSince: 1,
  };
  const heal = { ref, key, attempt: { unhealthyVm, startedAt, skipDelay: true } };
  const update = (n: number, act: string) => ({
    ref,
    key,
    batch: {
      n,
      revision: 'made-up',
      rollout: 'made-up',
      vms: [{ ...target, act, from: null, wasDown: false }],
      startedAt: Date.now(),
    },
    requestedBy: 'eve',
    reason: 'made up',
    minReadyMs: 0,
    deadlineMs: 60_000,
    mayFail: null,
    minVersions: {},
  });
  for (const [type, workflowId, input] of [
    ['healVm', healVmIdOf(ref, 'web-1', 7), heal],
    ['updateBatch', updateBatchIdOf(ref, 'made-up', 7), update(7, 'restart')],
    ['updateBatch', updateBatchIdOf(ref, 'made-up', 8), update(8, 'replace')],
  ] as const) {
    const { workflow } = fleet().temporal.client;
    await workflow.execute(type, { workflowId, taskQueue: taskQueueOf('default'), args: [input] });
    expect({ type, left: await all() }).toEqual({ type, left: before });
  }
});
