import { beforeAll, expect, test } from 'vitest';
import { healVmIdOf } from '../../workflows/messages.ts';
import type { PoolSpec } from '../../api/pool.ts';
import { KubeVirts, VirtualMachineInstances, VirtualMachines } from '../../kubernetes/resources.ts';
import { aFleet, orNothing, runningTemplate, until } from './fleet.ts';

const fleet = aFleet();

beforeAll(async () => {
  // KubeVirt's delays between starts, a hundredth as long.
  await until(async () => {
    const metadata = { annotations: { 'sim.drover.dev/backoff-factor': '0.01' } };
    await fleet().kube.patch(KubeVirts, { namespace: 'kubevirt', name: 'kubevirt' }, 'merge', { metadata });
  });
});

const withDisk: PoolSpec['template'] = {
  spec: {
    ...runningTemplate.spec,
    dataVolumeTemplates: [
      {
        metadata: { name: 'disk', annotations: { 'sim.drover.dev/provision-time': '50ms' } },
        spec: { storage: { resources: { requests: { storage: '1Gi' } } }, source: { blank: {} } },
      },
    ],
  },
};

/** Makes every start of one VM fail, as long as that VM is there. */
async function break_(namespace: string, name: string): Promise<void> {
  const metadata = { annotations: { 'sim.drover.dev/fail-starts': 'always' } };
  await fleet().kube.patch(VirtualMachines, { namespace, name }, 'merge', { spec: { template: { metadata } } });
  await orNothing(fleet().kube.delete(VirtualMachineInstances, { namespace, name }));
}

test('a VM that fails to start is replaced, with its disk, under its number', async () => {
  const namespace = await fleet().namespace();
  await fleet().createPool(namespace, 'web', {
    replicas: 3,
    template: withDisk,
    autohealing: { startupFailureThreshold: 2, backoff: { initial: '1s', jitter: 0 }, preserveStorage: false },
  });
  await until(async () => expect((await fleet().pool(namespace, 'web'))?.status).toMatchObject({ readyReplicas: 3 }));
  const before = await fleet().kube.get(VirtualMachines, { namespace, name: 'web-2' });
  await break_(namespace, 'web-2');
  await until(async () => {
    const after = await orNothing(fleet().kube.get(VirtualMachines, { namespace, name: 'web-2' }));
    expect(after?.metadata.uid).toBeDefined();
    expect(after?.metadata.uid).not.toBe(before.metadata.uid);
  });
  await until(async () => {
    const { status } = (await fleet().pool(namespace, 'web'))!;
    expect(status).toMatchObject({ readyReplicas: 3, healing: { cycles: [], spent: [{ vm: 'web-2', attempts: 1, end: 'Healed' }] } });
  });
  const cycle = fleet().temporal.client.workflow.getHandle(healVmIdOf({ cluster: 'default', namespace, name: 'web' }, 'web-2'));
  expect(await cycle.result()).toMatchObject({ end: 'Healed', attempts: 1 });
});
