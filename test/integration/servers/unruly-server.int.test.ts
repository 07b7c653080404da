import { expect, test } from 'vitest';
import { VirtualMachines } from '../../../api/resources.ts';
import { ignoreNotFound } from '../../../kubernetes/errors.ts';
import { seeded, seedOf } from '../../seeded.ts';
import { soak, some } from '../../soak.ts';
import type { Fate, FateOf } from '../chaos-proxy.ts';
import { aFleet, haltedTemplate, namesUpTo, until } from '../fleet.ts';
import { aProxiedWorker } from '../proxied-worker.ts';

const fleet = aFleet({ simulator: false, workers: 0 });
const calls = aProxiedWorker(fleet);
const VMS = soak(60, 24);

/** Lets every n-th write meet `fate`, counted across all calls; reads pass. */
const sometimes = (every: number, fate: Fate): FateOf => {
  let writes = 0;
  return (method) => (method !== 'GET' && ++writes % every === 0 ? fate : 'pass');
};

const faults: [string, () => FateOf][] = [
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
];

test.each(some(faults, 2, seeded(seedOf())))(
  'an API server that %s gets every VM made once, and deleted once',
  async (_what, fate) => {
    const namespace = await fleet().namespace();
    let misbehaved = false;
    const fateOf = fate();
    calls(async (method, path) => {
      const what = await fateOf(method, path);
      misbehaved ||= what !== 'pass';
      return what;
    });
    await fleet().createPool(namespace, 'web', { replicas: VMS });
    await fleet().settled(namespace, 'web', namesUpTo('web', VMS));
    await fleet().patchPool(namespace, 'web', { replicas: 10 });
    await until(async () => expect((await fleet().pool(namespace, 'web'))?.status?.replicas).toBe(10));
    // KubeVirt keeps VMs terminating for a moment.
    await until(async () => expect(await fleet().vmNames(namespace, 'web')).toHaveLength(10));
    expect(misbehaved).toBe(true);
  },
);

test('a name that another client takes between the plan and the call is skipped', async () => {
  const namespace = await fleet().namespace();
  let raced = false;
  calls(async (method, path): Promise<Fate> => {
    if (method !== 'POST' || !path.includes('/virtualmachines') || raced) return 'pass';
    raced = true;
    await fleet().kube.create(VirtualMachines, { metadata: { namespace, name: 'web-2' }, spec: haltedTemplate.spec });
    return { status: 503, retryAfter: 1 };
  });
  await fleet().createPool(namespace, 'web', { replicas: 3 });
  await fleet().settled(namespace, 'web', ['web-1', 'web-3', 'web-4']);
  expect(raced).toBe(true);
});

test('a VM that another client puts in place of a leaving one, between the plan and the call, is left alone', async () => {
  const namespace = await fleet().namespace();
  let foreign: string | undefined;
  calls(async (method, path): Promise<Fate> => {
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
  await fleet().createPool(namespace, 'web', { replicas: 3 });
  await fleet().settled(namespace, 'web', namesUpTo('web', 3));
  await fleet().patchPool(namespace, 'web', { replicas: 0 });
  await fleet().settled(namespace, 'web', []);
  expect((await fleet().vms(namespace)).map((vm) => vm.metadata.name)).toEqual([foreign]);
});
