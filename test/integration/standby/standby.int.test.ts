import { expect, test } from 'vitest';
import type { Stored } from '../../../api/objects.ts';
import type { PoolSpec, PoolStatus } from '../../../api/pool/pool.ts';
import { VirtualMachineInstances, VirtualMachines } from '../../../api/resources.ts';
import { vmView, type VirtualMachine } from '../../../decisions/from-object/vm.ts';
import { vmiView, type VirtualMachineInstance } from '../../../decisions/from-object/vmi.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import { roleOf, type VmView } from '../../../decisions/views/vm.ts';
import { needs } from '../../cluster/given/needs.ts';
import { aStep } from '../../decisions/fixtures/rollout-pools.ts';
import { crashTest, testOneOf } from '../../soak.ts';
import { chaosProxy, type Fate } from '../chaos-proxy.ts';
import { aFleet, runningTemplate, until } from '../fleet.ts';
import { setQuota } from '../quota.ts';

const fleet = aFleet({ workers: 0 });

const PAUSED = { reason: 'PausedByUser' };
const standby = (replicas: number, state: 'Stopped' | 'Paused' = 'Stopped') => ({ replicas, state });

/** Waits until the pool's status says all this. */
const says = (namespace: string, status: Partial<PoolStatus>): Promise<void> =>
  until(async () => expect((await fleet().pool(namespace, 'web'))?.status).toMatchObject(status));

const views = async (namespace: string): Promise<VmView[]> =>
  ((await fleet().vms(namespace)) as Stored<VirtualMachine>[])
    .map(vmView)
    .toSorted((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true }));
const standbyNames = async (namespace: string): Promise<string[]> =>
  (await views(namespace)).filter(({ roleLabel }) => roleLabel === 'Standby').map(({ name }) => name);
const uidsOf = async (namespace: string): Promise<Record<string, string>> =>
  Object.fromEntries((await views(namespace)).map(({ name, uid }) => [name, uid]));

async function aPool(namespace: string, spec: Partial<PoolSpec>): Promise<void> {
  await fleet().createPool(namespace, 'web', { template: runningTemplate, ...spec });
  const { replicas = 3, standby: wanted } = spec;
  const ready = { standbyReplicas: wanted!.replicas, readyStandbyReplicas: wanted!.replicas };
  await says(namespace, { replicas, readyReplicas: replicas, ...ready });
}

test('a scale-out promotes stopped VMs before it creates any, a scale-in takes replicas, and a rollout takes standby first', async () => {
  const namespace = await fleet().namespace();
  const calls: string[] = [];
  const watched = await chaosProxy(fleet().workerKubeconfig, (method, path): Fate => {
    if (/virtualmachines(\/|\?|$)/.test(path)) calls.push(`${method} ${path.split('?')[0]!.split('/').at(-1)}`);
    return 'pass';
  });
  const worker = await fleet().startWorker({ KUBECONFIG: watched.kubeconfig });
  await aPool(namespace, { replicas: 3, standby: standby(2) });
  const before = await uidsOf(namespace);
  expect(await standbyNames(namespace)).toEqual(['web-4', 'web-5']);
  calls.length = 0;
  await fleet().patchPool(namespace, 'web', { replicas: 5 });
  await says(namespace, { replicas: 5, readyReplicas: 5, standbyReplicas: 2, readyStandbyReplicas: 2 });
  expect(await uidsOf(namespace)).toMatchObject(before);
  expect(await standbyNames(namespace)).toEqual(['web-6', 'web-7']);
  const created = calls.findIndex((call) => call.startsWith('POST'));
  for (const name of ['web-4', 'web-5']) expect(calls.indexOf(`PATCH ${name}`)).toBeLessThan(created);
  expect(calls.slice(0, created).filter((call) => call.startsWith('PATCH'))).toHaveLength(2);

  await fleet().patchPool(namespace, 'web', { replicas: 2 });
  await says(namespace, { replicas: 2, standbyReplicas: 2 });
  await until(async () => expect(await fleet().vmNames(namespace, 'web')).toHaveLength(4));
  expect(await standbyNames(namespace)).toEqual(['web-6', 'web-7']);

  const template = structuredClone(runningTemplate);
  template.metadata = { labels: { tier: 'new' } };
  const steps = [aStep(1)];
  await fleet().patchPool(namespace, 'web', { template, rollout: { steps } });
  await until(async () =>
    expect(await fleet().condition(namespace, 'web', 'Progressing')).toMatchObject({ reason: 'WaitingForApproval' }),
  );
  const revision = (await fleet().pool(namespace, 'web'))!.status!.updateRevision;
  const taken = (await views(namespace)).filter((vm) => vm.revision === revision);
  expect(taken.filter(({ roleLabel }) => roleLabel === 'Standby').map(({ name }) => name)).toEqual(['web-6', 'web-7']);
  expect(taken).toHaveLength(3);
  for (const vm of taken.filter(({ roleLabel }) => roleLabel === 'Standby'))
    expect(vm).toMatchObject({ runStrategy: 'Halted', hasVmi: false });

  await fleet().patchPool(namespace, 'web', { standby: standby(0) });
  await says(namespace, { replicas: 2, standbyReplicas: 0 });
  await worker.stop();
});

crashTest('promotions')(
  'each VM is promoted once if a worker dies in the middle of promotions, and users change the VMs meanwhile',
  async () => {
    const namespace = await fleet().namespace();
    const { kube } = fleet();
    let raced = false;
    const unruly = await chaosProxy(fleet().workerKubeconfig, async (method, path): Promise<Fate> => {
      const name = /virtualmachines\/(web-\d+)(\?|$)/.exec(path)?.[1];
      if (method !== 'PATCH' || name === undefined || !path.includes('/apis/kubevirt.io/')) return 'pass';
      if (!raced) {
        raced = true;
        const change = { metadata: { annotations: { note: 'mine' } }, spec: { runStrategy: 'RerunOnFailure' } };
        await kube.patch(VirtualMachines, { namespace, name }, 'merge', change);
        return 'pass';
      }
      return 'drop-answer';
    });
    const worker = await fleet().startWorker({ KUBECONFIG: unruly.kubeconfig, DROVER_CONCURRENCY: '1' });
    await aPool(namespace, { replicas: 1, standby: standby(4) });
    const before = await uidsOf(namespace);
    const ready = await standbyNames(namespace);
    await fleet().patchPool(namespace, 'web', { replicas: 5 });
    // Others come in their place: a count would be what it was again.
    await until(async () => expect(await standbyNames(namespace)).not.toEqual(expect.arrayContaining(ready)));
    await worker.kill();

    await fleet().startWorker();
    await says(namespace, { replicas: 5, readyReplicas: 5, standbyReplicas: 4, readyStandbyReplicas: 4 });
    const after = await uidsOf(namespace);
    expect(after).toMatchObject(before);
    expect(Object.keys(after)).toHaveLength(9);
    const own = (await fleet().vms(namespace)).find(({ metadata }) => metadata.annotations?.['note'] === 'mine')!;
    // The user's choice of a run strategy stays as well.
    expect(own).toMatchObject({ spec: { runStrategy: 'RerunOnFailure' } });
    expect(roleOf(own.metadata.labels)).toBeNull();
  },
);

testOneOf({
  'paused VMs resume where they are when they are promoted, and are restarted and paused again by a rollout':
    async () => {
      needs('VMIs that can be paused');
      const namespace = await fleet().namespace();
      await fleet().worker();
      await aPool(namespace, { replicas: 2, standby: standby(2, 'Paused') });
      const vmis = async () =>
        new Map(
          (await fleet().kube.list<VirtualMachineInstance>(VirtualMachineInstances, { namespace })).items
            .map(vmiView)
            .map((vmi) => [vmi.name, vmi]),
        );
      const arePaused = (...names: string[]): Promise<void> =>
        until(async () => {
          const all = await vmis();
          for (const name of names) expect(all.get(name)).toMatchObject({ pause: PAUSED });
        });
      await arePaused('web-3', 'web-4');
      const before = await vmis();
      await fleet().patchPool(namespace, 'web', { replicas: 4 });
      await says(namespace, { replicas: 4, readyReplicas: 4, standbyReplicas: 2, readyStandbyReplicas: 2 });
      const after = await vmis();
      for (const name of ['web-3', 'web-4'])
        expect(after.get(name)).toMatchObject({ uid: before.get(name)!.uid, pause: null });
      await arePaused('web-5', 'web-6');

      const template = structuredClone(runningTemplate);
      (template.spec.template['spec'] as Record<string, unknown>)['hostname'] = 'fresh';
      await fleet().patchPool(namespace, 'web', { template });
      const revision = revisionOf(template);
      await says(namespace, { currentRevision: revision, updateRevision: revision });
      await until(async () => {
        const all = await vmis();
        for (const name of ['web-5', 'web-6']) expect(all.get(name)).toMatchObject({ pause: PAUSED, revision });
      });

      await fleet().patchPool(namespace, 'web', { standby: standby(2) });
      await until(async () => {
        const left = (await views(namespace)).filter(({ roleLabel }) => roleLabel === 'Standby');
        expect(left).toMatchObject([
          { name: 'web-5', runStrategy: 'Halted', hasVmi: false },
          { name: 'web-6', runStrategy: 'Halted', hasVmi: false },
        ]);
      });
    },
  'a quota that is full for the standby is reported, and prevents no promotion': async () => {
    const namespace = await fleet().namespace();
    await setQuota(fleet(), namespace, VirtualMachines, { hard: 4, used: 0 });
    await fleet().worker();
    await fleet().createPool(namespace, 'web', { template: runningTemplate, replicas: 3, standby: standby(2) });
    await until(async () =>
      expect(await fleet().condition(namespace, 'web', 'ReplicaFailure')).toMatchObject({
        reason: 'FailedStandby',
        message: expect.stringContaining('exceeded quota') as string,
      }),
    );
    await says(namespace, { replicas: 3, readyReplicas: 3, standbyReplicas: 1 });
    await fleet().patchPool(namespace, 'web', { replicas: 4 });
    await says(namespace, { replicas: 4, readyReplicas: 4, standbyReplicas: 0 });
    await setQuota(fleet(), namespace, VirtualMachines, { hard: 100, used: 4 });
    await says(namespace, { replicas: 4, readyReplicas: 4, standbyReplicas: 2, readyStandbyReplicas: 2 });
  },
});
