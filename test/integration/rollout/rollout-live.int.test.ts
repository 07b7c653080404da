import { describe, expect, test } from 'vitest';
import { REVISION_LABEL } from '../../../api/labels-and-annotations.ts';
import type { PoolSpec } from '../../../api/pool/pool.ts';
import {
  DataVolumes,
  PersistentVolumeClaims,
  StorageClasses,
  VirtualMachineInstanceMigrations,
  VirtualMachines,
  type Resource,
} from '../../../api/resources.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import type { Claim, Migration } from '../../../simulator/objects/kubevirt.ts';
import { needs } from '../../cluster/given/needs.ts';
import { testOneOf } from '../../soak.ts';
import { deny } from '../admission-policy.ts';
import { aFleet, namesUpTo, until } from '../fleet.ts';
import { templateOf, TestPool } from './rollouts.ts';

const fleet = aFleet({ kubevirtCrds: true });

/** A VMI that can grow: KubeVirt sets its maximum to four times as much. */
const small = { sockets: 1, memory: '1Gi' };
const aPool = (spec: Partial<PoolSpec> = {}): Promise<TestPool> =>
  TestPool.ready(fleet(), { replicas: 2, maxUnavailable: 1, template: templateOf(small), ...spec });
const atMost = (disruption: 'None' | 'Live' | 'Restart' | 'Replace'): Partial<PoolSpec> => ({
  updateStrategy: { proactive: { disruption } },
});

/** Returns the different acts of all batches, sorted. */
async function acts(pool: TestPool): Promise<string[]> {
  const batches = await pool.batches();
  return [...new Set(batches.flatMap(({ vms }) => vms.map(({ act }) => act)))].sort();
}

describe('a live update', () => {
  test('of sockets and memory changes the running VMIs, and is reported once they have it', async () => {
    needs('live updates');
    const pool = await aPool();
    const before = await pool.vmiUids();
    const next = await pool.change(templateOf({ sockets: 2, memory: '2Gi', labels: { size: 'big' } }));
    // KubeVirt made the pods of these migrations before drover gave the VMIs their labels.
    await pool.untilPodsAreOutdated(next);
    expect(await pool.vmiUids()).toEqual(before);
    for (const name of namesUpTo('web', 2)) {
      expect(await pool.vmi(name)).toMatchObject({
        metadata: { labels: { [REVISION_LABEL]: next, size: 'big' } },
        spec: { domain: { cpu: { sockets: 2 }, memory: { guest: '2Gi' } } },
        status: { currentCPUTopology: { sockets: 2 }, memory: { guestCurrent: '2Gi' } },
      });
      expect(await pool.vm(name)).toMatchObject({
        metadata: { labels: { [REVISION_LABEL]: next } },
        spec: { template: { spec: { domain: { cpu: { sockets: 2 } } } } },
      });
    }
    await until(async () => expect(await acts(pool)).toEqual(['live']));
  });

  test('does not label a VMI with the revision before the live update is done', async () => {
    needs('live updates');
    const pool = await aPool();
    const next = await pool.change(templateOf({ ...small, sockets: 3 }));
    const seen: string[] = [];
    await until(async () => {
      for (const { metadata, status } of (await pool.vmis()).values()) {
        if (metadata.labels?.[REVISION_LABEL] === next) seen.push(String(status?.currentCPUTopology?.sockets));
      }
      expect((await pool.status()).currentRevision).toBe(next);
    });
    expect([...new Set(seen)]).toEqual(['3']);
  });

  test('adds node selector, affinity and tolerations, and removes them again', async () => {
    const pool = await aPool();
    const before = await pool.vmiUids();
    const affinity = {
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          { weight: 1, podAffinityTerm: { topologyKey: 'kubernetes.io/hostname' } },
        ],
      },
    };
    const placement = {
      nodeSelector: { 'kubevirt.io/schedulable': 'true' },
      tolerations: [{ key: 'gpu', operator: 'Exists' }],
      affinity,
    };
    const next = await pool.change(templateOf({ ...small, vmi: placement }));
    await pool.untilPodsAreOutdated(next);
    expect((await pool.vmi('web-2')).spec).toMatchObject(placement);
    await pool.untilComplete(await pool.change(templateOf(small)));
    const { spec } = await pool.vmi('web-2');
    for (const field of Object.keys(placement)) expect(spec).not.toHaveProperty(field);
    expect(await pool.vmiUids()).toEqual(before);
  });
});

test('pods that lack a label are made again by migrations, one VM at a time, and no VM restarts', async () => {
  needs('live migration');
  const pool = await aPool({ updateStrategy: { proactive: { outdatedPods: 'Migrate' } } });
  const before = await pool.vmis();
  await pool.untilComplete(await pool.change(templateOf({ ...small, labels: { tier: 'gold' } })));
  for (const [name, { metadata, status }] of await pool.vmis()) {
    expect([name, metadata.uid]).toEqual([name, before.get(name)!.metadata.uid]);
    expect([name, status?.nodeName]).not.toEqual([name, before.get(name)!.status?.nodeName]);
  }
  const { items } = await fleet().kube.list<Migration>(VirtualMachineInstanceMigrations, { namespace: pool.namespace });
  const times = items.map(({ metadata, status }) => ({
    from: Date.parse(metadata.creationTimestamp),
    to: Date.parse(status!.phaseTransitionTimestamps!.at(-1)!.phaseTransitionTimestamp),
  }));
  const [first, second, ...others] = times.sort((a, b) => a.from - b.from);
  expect(others).toEqual([]);
  expect(second!.from).toBeGreaterThanOrEqual(first!.to);
  expect((await pool.status()).outdatedPodReplicas ?? 0).toBe(0);
  await until(async () => expect(await acts(pool)).toEqual(['migrate', 'write']));
});

const disk = (
  name: string,
  storage: string,
  { annotations, ...more }: { annotations?: object; storageClassName?: string } = {},
) => ({
  metadata: { name, annotations: { 'sim.drover.dev/provision-time': '100ms', ...annotations } },
  spec: { source: { blank: {} }, storage: { resources: { requests: { storage } }, ...more } },
});
const withDisks = (...templates: ReturnType<typeof disk>[]) => ({
  vm: { dataVolumeTemplates: templates },
  vmi: { volumes: templates.map(({ metadata: { name } }) => ({ name, dataVolume: { name } })) },
});
const disks = (storage: string) => withDisks(disk('root', storage));
const sizes = async (pool: TestPool): Promise<Record<string, unknown>> => {
  const { items } = await fleet().kube.list<Claim>(PersistentVolumeClaims, { namespace: pool.namespace });
  return Object.fromEntries(items.map(({ metadata, status }) => [metadata.name, status?.capacity?.['storage']]));
};
const uids = async (pool: TestPool, resource: Resource): Promise<Record<string, string>> =>
  Object.fromEntries(
    (await fleet().kube.list(resource, { namespace: pool.namespace })).items.map(({ metadata }) => [
      metadata.name,
      metadata.uid,
    ]),
  );
const allUids = async (pool: TestPool): Promise<Record<string, Record<string, string>>> => ({
  vms: Object.fromEntries([...(await pool.vms())].map(([name, { metadata }]) => [name, metadata.uid])),
  vmis: await pool.vmiUids(),
  disks: await uids(pool, DataVolumes),
  claims: await uids(pool, PersistentVolumeClaims),
});

describe('disruption', () => {
  testOneOf({
    'None stages a change that needs a restart, and VMs take it as they stop': async () => {
      const pool = await aPool(atMost('None'));
      const before = await pool.vmiUids();
      const next = await pool.change(templateOf({ ...small, cores: 2 }));
      await until(async () =>
        expect((await pool.condition('Progressing'))!.message).toContain(
          'web-1, web-2: it waits for a restart, which the pool leaves to users',
        ),
      );
      expect(await pool.vmiUids()).toEqual(before);
      await pool.power('web-1', 'restart');
      await until(async () => expect(await pool.running(next)).toEqual(['web-1']));
      expect(await pool.vmiUids()).toMatchObject({ 'web-2': before['web-2'] });
    },
    'None does not even write what KubeVirt would do to a running VMI, but writes it to a halted VM': async () => {
      needs('live updates');
      const pool = await aPool(atMost('None'));
      await pool.power('web-2', 'stop');
      await until(async () => expect([...(await pool.vmis()).keys()]).toEqual(['web-1']));
      const next = await pool.change(templateOf({ ...small, sockets: 2 }));
      await until(async () =>
        expect((await pool.condition('Progressing'))!.message).toContain(
          'web-1: it would be updated while it runs, which the pool does not allow',
        ),
      );
      const old = revisionOf(templateOf(small));
      await until(async () =>
        expect(await pool.revisions()).toEqual({ 'web-1': [old, old], 'web-2': [next, undefined] }),
      );
      expect((await pool.vmi('web-1')).spec.domain.cpu).toMatchObject({ sockets: 1 });
    },
    'Restart leaves disks that would have to be recreated, and reports them': async () => {
      const pool = await aPool({ template: templateOf(disks('2Gi')) });
      const before = await allUids(pool);
      const next = await pool.change(templateOf({ cores: 2, ...disks('1Gi') }));
      await until(async () =>
        expect((await pool.condition('Progressing'))!.message).toContain(
          'web-1, web-2: its disks would have to be replaced, which the pool does not allow',
        ),
      );
      await pool.until({
        updatedReplicas: 0,
        updateRevision: next,
        currentRevision: revisionOf(templateOf(disks('2Gi'))),
      });
      expect(await allUids(pool)).toEqual(before);
    },
  });

  testOneOf({
    'Live lets a larger disk grow under its VMI, and nothing restarts': async () => {
      needs('a default storage class that expands');
      const pool = await aPool({ template: templateOf(disks('1Gi')), ...atMost('Live') });
      await pool.power('web-2', 'stop');
      await until(async () => expect([...(await pool.vmis()).keys()]).toEqual(['web-1']));
      const before = await allUids(pool);
      const next = await pool.change(templateOf(disks('2Gi')));
      await pool.until({ updatedReplicas: 2, currentRevision: next });
      expect(await sizes(pool)).toEqual({ 'root-1': '2Gi', 'root-2': '2Gi' });
      expect(await allUids(pool)).toEqual(before);
      expect((await pool.vm('web-1')).spec.dataVolumeTemplates).toMatchObject([
        { spec: { storage: { resources: { requests: { storage: '2Gi' } } } } },
      ]);
    },
    'Restart makes an additional disk beside the existing ones, and releases one that is removed; no data is lost':
      async () => {
        const pool = await aPool({ template: templateOf(disks('1Gi')) });
        const before = await allUids(pool);
        await pool.untilComplete(await pool.change(templateOf(withDisks(disk('root', '1Gi'), disk('data', '3Gi')))));
        expect(await sizes(pool)).toEqual({ 'data-1': '3Gi', 'data-2': '3Gi', 'root-1': '1Gi', 'root-2': '1Gi' });
        const grown = await allUids(pool);
        expect(grown).toMatchObject({ vms: before['vms'], disks: before['disks'], claims: before['claims'] });
        for (const [name, uid] of Object.entries(before['vmis']!)) expect(grown['vmis']![name]).not.toBe(uid);
        await pool.untilComplete(await pool.change(templateOf(disks('1Gi'))));
        expect(await allUids(pool)).toMatchObject({ disks: grown['disks'], claims: grown['claims'] });
        expect((await pool.vm('web-1')).spec.dataVolumeTemplates).toHaveLength(1);
      },
  });

  test.each([
    [
      'whose storage class forbids it',
      { storageClassName: 'fixed' },
      'the storageclass that provisions the pvc must support resize',
    ],
    [
      'that the storage has no room for',
      { annotations: { 'sim.drover.dev/grow-fails': 'true' } },
      'the storage has no room for 2Gi',
    ],
  ])('a disk %s does not grow: the update fails with the reason, and loses nothing', async (_which, more, why) => {
    needs('a default storage class that expands');
    const { kube } = fleet();
    await kube
      .create(StorageClasses, { metadata: { name: 'fixed' }, provisioner: 'example.com/none' })
      .catch(() => undefined);
    const pool = await aPool({ template: templateOf(withDisks(disk('root', '1Gi', more))) });
    const before = await allUids(pool);
    await pool.change(templateOf({ cores: 2, ...withDisks(disk('root', '2Gi', more)) }));
    await until(async () =>
      expect((await pool.condition('Degraded'))?.message).toMatch(/web-\d: its disk root-\d does not grow to 2Gi: /),
    );
    expect((await pool.condition('Degraded'))!.message).toContain(why);
    expect(await allUids(pool)).toEqual(before);
  });

  testOneOf({
    'Replace recreates VMs and their disks, within the budget': async () => {
      const pool = await aPool({ replicas: 3, template: templateOf(disks('4Gi')), ...atMost('Replace') });
      const before = await allUids(pool);
      const watch = await pool.watched();
      const next = await pool.change(templateOf({ cores: 2, ...disks('2Gi') }));
      await pool.untilComplete(next);
      await watch.caughtUp();
      expect(watch.log.mostUnavailable({ replicas: 3 })).toBe(1);
      const after = await allUids(pool);
      for (const [kind, old] of Object.entries(before)) {
        expect(Object.keys(after[kind]!)).toEqual(Object.keys(old));
        for (const [name, uid] of Object.entries(old))
          expect([kind, name, after[kind]![name]]).not.toEqual([kind, name, uid]);
      }
      const { items } = await fleet().kube.list(PersistentVolumeClaims, { namespace: pool.namespace });
      expect(items.map(({ metadata }) => metadata.name).sort()).toEqual(['root-1', 'root-2', 'root-3']);
      for (const { spec } of items) expect(spec).toMatchObject({ resources: { requests: { storage: '2Gi' } } });
      await until(async () => expect(await acts(pool)).toEqual(['replace']));
    },
    'Replace fails with the reason for a VM that may not be deleted, and loses nothing of it': async () => {
      const pool = await aPool({ replicas: 1, template: templateOf(disks('4Gi')), ...atMost('Replace') });
      const before = await allUids(pool);
      await protect(pool.namespace);
      await pool.change(templateOf(disks('2Gi')));
      await pool.untilSaid({ Progressing: 'Failed' });
      expect((await pool.status()).rollout?.failures).toMatchObject([
        { vm: 'web-1', message: expect.stringMatching(/^it cannot be deleted: .*this VM is protected/) },
      ]);
      await until(async () => expect((await pool.batches()).map(({ status }) => status)).toEqual(['COMPLETED']));
      expect(await allUids(pool)).toEqual(before);
    },
  });
});

/** Protects the VMs of a namespace from deletion, as a cluster's owner would. */
function protect(namespace: string): Promise<void> {
  const { kube } = fleet();
  const tried = () => kube.delete(VirtualMachines, { namespace, name: 'web-1' }, { dryRun: true });
  return deny(kube, { namespace, operation: 'DELETE', expression: 'false', message: 'this VM is protected', tried });
}
