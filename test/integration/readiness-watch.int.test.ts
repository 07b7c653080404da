import { expect, onTestFinished, test } from 'vitest';
import { VirtualMachineInstances, VirtualMachines } from '../../api/resources.ts';
import type { VirtualMachine } from '../../simulator/objects/kubevirt.ts';
import { aFleet, until } from './fleet.ts';
import { ReadinessWatch } from './readiness-watch.ts';

const fleet = aFleet({ workers: 0, ownStack: true });
const NAMES = ['one', 'two', 'three'];

async function watched(): Promise<{ namespace: string; watch: ReadinessWatch }> {
  const namespace = await fleet().namespace();
  const watch = await ReadinessWatch.start(fleet().kube, namespace);
  onTestFinished(() => watch.stop());
  const metadata = { annotations: { 'sim.drover.dev/boot-time': '1s', 'sim.drover.dev/stop-time': '100ms' } };
  for (const name of NAMES) {
    await fleet().kube.create(VirtualMachines, {
      metadata: { namespace, name },
      spec: {
        runStrategy: 'Always',
        template: { metadata, spec: { domain: { devices: {}, memory: { guest: '64Mi' } } } },
      },
    });
  }
  await ready(namespace);
  await watch.startRecording();
  return { namespace, watch };
}

const ready = (namespace: string): Promise<void> =>
  until(async () => {
    const { items } = await fleet().kube.list<VirtualMachine>(VirtualMachines, { namespace });
    expect(items.map(({ status }) => status?.ready)).toEqual(NAMES.map(() => true));
  });

const restart = async (namespace: string, name: string): Promise<void> => {
  const { metadata } = await fleet().kube.get(VirtualMachineInstances, { namespace, name });
  await fleet().kube.delete(VirtualMachineInstances, { namespace, name }, { uid: metadata.uid });
  await until(async () =>
    expect((await fleet().kube.get(VirtualMachineInstances, { namespace, name })).metadata.uid).not.toBe(metadata.uid),
  );
};

test('the watch sees each restart, and how many were down at once', async () => {
  const { namespace, watch } = await watched();
  expect(watch.log.mostUnavailable()).toBe(0);
  await restart(namespace, 'one');
  await ready(namespace);
  await watch.caughtUp();
  expect(watch.log.mostUnavailable()).toBe(1);
  await Promise.all(['one', 'two'].map((name) => restart(namespace, name)));
  await ready(namespace);
  await watch.caughtUp();
  expect(watch.log.peak()).toMatchObject({ unavailable: 2, names: ['one', 'two'] });
  expect(NAMES.map((name) => watch.log.restartsOf(name).length)).toEqual([2, 1, 0]);
  expect(watch.gaps).toEqual([]);
});

test('the watch continues when its API server was killed, and notes what it may have missed', async () => {
  const { namespace, watch } = await watched();
  fleet().stack.kill('kube-apiserver', 'SIGKILL');
  await fleet().stack.restart('kube-apiserver');
  await until(() => restart(namespace, 'three'));
  await ready(namespace);
  await watch.caughtUp();
  expect(watch.log.restartsOf('three')).toHaveLength(1);
  expect(watch.log.mostUnavailable()).toBe(1);
  // A restart leaves no gap only if the watch had seen every change before it.
  expect(watch.gaps).not.toEqual([]);
  await fleet().kube.delete(VirtualMachines, { namespace, name: 'two' });
  await until(async () => expect(watch.log.names()).toEqual(['one', 'three']));
});
