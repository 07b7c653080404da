import { expect, onTestFinished, test } from 'vitest';
import { VirtualMachines } from '../../../api/resources.ts';
import { ignoreNotFound } from '../../../kubernetes/errors.ts';
import { poolIdOf, progress } from '../../../workflows/messages.ts';
import { soak } from '../../soak.ts';
import { chaosProxy, type Fate } from '../chaos-proxy.ts';
import { aFleet, haltedTemplate, namesUpTo, until } from '../fleet.ts';

const fleet = aFleet({ simulator: false, workers: 0 });
const VMS = soak(60, 24);

/** Lets every n-th write meet `fate`, counted across all calls; reads pass. */
const sometimes = (every: number, fate: Fate) => {
  let writes = 0;
  return (method: string): Fate => (method !== 'GET' && ++writes % every === 0 ? fate : 'pass');
};

test.each<[string, () => (method: string, path: string) => Fate]>([
  ['answers 500', () => sometimes(4, { status: 500 })],
  ['answers 429 and asks for a moment', () => sometimes(10, { status: 429, retryAfter: 1 })],
  ['drops the connection after it did the work', () => sometimes(4, 'drop-answer')],
  ['drops the connection before it did the work', () => sometimes(4, 'drop-call')],
  [
    'does nothing but fail at first',
    () => {
      let first: number | undefined;
      return (method) => (method !== 'GET' && Date.now() - (first ??= Date.now()) < 5_000 ? { status: 503 } : 'pass');
    },
  ],
])('an API server that %s: every VM once, out and in', async (_what, fate) => {
  const namespace = await fleet().namespace();
  const proxy = await chaosProxy(fleet().workerKubeconfig, fate());
  const worker = await fleet().startWorker({ KUBECONFIG: proxy.kubeconfig });
  onTestFinished(() => worker.kill());
  await fleet().createPool(namespace, 'web', { replicas: VMS });
  await fleet().settled(namespace, 'web', namesUpTo('web', VMS));
  await fleet().patchPool(namespace, 'web', { replicas: 10 });
  await until(async () => expect((await fleet().pool(namespace, 'web'))?.status?.replicas).toBe(10));
  // KubeVirt keeps VMs terminating for a moment.
  await until(async () => expect(await fleet().vmNames(namespace, 'web')).toHaveLength(10));
  // The API server did misbehave.
  expect(proxy.calls.some((call) => !call.endsWith(' pass'))).toBe(true);
  await worker.stop();
});

test('a name that another takes between the plan and the call is skipped', async () => {
  const namespace = await fleet().namespace();
  let raced = false;
  const proxy = await chaosProxy(fleet().workerKubeconfig, (method, path) => {
    if (method !== 'POST' || !path.includes('/virtualmachines') || raced) return 'pass';
    raced = true;
    void fleet().kube.create(VirtualMachines, { metadata: { namespace, name: 'web-2' }, spec: haltedTemplate.spec });
    return { status: 503, retryAfter: 1 };
  });
  const worker = await fleet().startWorker({ KUBECONFIG: proxy.kubeconfig });
  onTestFinished(() => worker.kill());
  await fleet().createPool(namespace, 'web', { replicas: 3 });
  await fleet().settled(namespace, 'web', ['web-1', 'web-3', 'web-4']);
  expect(raced).toBe(true);
  await worker.stop();
});

test('a VM that another puts in the place of one that leaves, between the plan and the call, is left alone', async () => {
  const namespace = await fleet().namespace();
  let foreign: string | undefined;
  const proxy = await chaosProxy(fleet().workerKubeconfig, async (method, path): Promise<Fate> => {
    if (method !== 'DELETE' || !path.includes(`/${namespace}/virtualmachines/`) || foreign !== undefined) return 'pass';
    const name = path.split('?')[0]!.split('/').at(-1)!;
    foreign = name;
    await fleet().kube.delete(VirtualMachines, { namespace, name });
    await until(async () =>
      expect(await ignoreNotFound(fleet().kube.get(VirtualMachines, { namespace, name }))).toBeUndefined(),
    );
    await fleet().kube.create(VirtualMachines, { metadata: { namespace, name }, spec: haltedTemplate.spec });
    return 'pass';
  });
  const worker = await fleet().startWorker({ KUBECONFIG: proxy.kubeconfig });
  onTestFinished(() => worker.kill());
  await fleet().createPool(namespace, 'web', { replicas: 3 });
  await fleet().settled(namespace, 'web', namesUpTo('web', 3));
  await fleet().patchPool(namespace, 'web', { replicas: 0 });
  await fleet().settled(namespace, 'web', []);
  expect((await fleet().vms(namespace)).map((vm) => vm.metadata.name)).toEqual([foreign]);
  await worker.stop();
});

test('VMs that were to leave while no call got through stay, where the pool wants them again by then', async () => {
  const namespace = await fleet().namespace();
  let refused = 0;
  const proxy = await chaosProxy(fleet().workerKubeconfig, (method, path): Fate => {
    if (method !== 'DELETE' || !path.includes(`/${namespace}/virtualmachines/`)) return 'pass';
    refused++;
    return { status: 503, retryAfter: 1 };
  });
  const cutOff = await fleet().startWorker({ KUBECONFIG: proxy.kubeconfig });
  onTestFinished(() => cutOff.kill());
  await fleet().createPool(namespace, 'web', { replicas: 6 });
  await fleet().settled(namespace, 'web', namesUpTo('web', 6));
  const before = (await fleet().vms(namespace)).map((vm) => vm.metadata.uid).sort();
  await fleet().patchPool(namespace, 'web', { replicas: 3 });
  await until(async () => expect(refused).toBeGreaterThan(0));
  // The next worker takes over the activity when it times out on this worker.
  await cutOff.kill();
  await fleet().patchPool(namespace, 'web', { replicas: 6 });
  const worker = await fleet().startWorker();
  onTestFinished(() => worker.kill());
  const workflow = fleet().temporal.client.workflow.getHandle(poolIdOf({ cluster: 'default', namespace, name: 'web' }));
  await until(async () => expect(await workflow.query(progress)).toMatchObject({ deleting: [] }));
  await fleet().settled(namespace, 'web', namesUpTo('web', 6));
  expect((await fleet().vms(namespace)).map((vm) => vm.metadata.uid).sort()).toEqual(before);
  await worker.stop();
});
