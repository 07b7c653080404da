import { describe, expect, test } from 'vitest';
import {
  REQUESTED_BY_ANNOTATION,
  CHANGE_CAUSE_ANNOTATION,
  DO_NOT_DISRUPT_ANNOTATION,
  POOL_LABEL,
  REVISION_LABEL,
} from '../../../api/labels-and-annotations.ts';
import type { KubeObject, Stored } from '../../../api/objects.ts';
import type { PoolSpec } from '../../../api/pool/pool.ts';
import { requesterAnnotation } from '../../../api/requested-by.ts';
import {
  ControllerRevisions,
  PersistentVolumeClaims,
  VirtualMachineInstances,
  VirtualMachinePools,
} from '../../../api/resources.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import { ignoreNotFound } from '../../../kubernetes/errors.ts';
import { DroverCluster, DroverPhase, DroverPool, DroverRevision } from '../../../workflows/lib/search-attributes.ts';
import { sample } from '../../soak.ts';
import { aFleet, namesUpTo, until } from '../fleet.ts';
import { approvalAt, revisionIn, templateOf, TestPool } from './rollouts.ts';

const fleet = aFleet();

const first = revisionOf(templateOf());
const aPool = (spec: Partial<PoolSpec> = {}): Promise<TestPool> => TestPool.ready(fleet(), spec);
/** A stop slow enough to be seen. */
const slow = { annotations: { 'sim.drover.dev/stop-time': '2500ms' } };

type Kept = Stored<KubeObject & { revision: number; data: { template: object } }>;

/** Returns the kept templates of a pool, oldest first; leaves out KubeVirt's own revisions of the VMs. */
async function kept({ namespace }: TestPool): Promise<Kept[]> {
  const { items } = await fleet().kube.list<Kept>(ControllerRevisions, { namespace, labelSelector: POOL_LABEL });
  return items.toSorted((a, b) => a.revision - b.revision);
}

const numbers = async (pool: TestPool): Promise<[revision: string | undefined, number: number][]> =>
  (await kept(pool)).map((one) => [revisionIn(one), one.revision]);

describe('revisions', () => {
  test('are kept as ControllerRevisions of the pool; a return to one makes it the newest again', async () => {
    const pool = await aPool({ replicas: 1 });
    const { metadata } = await pool.get();
    const second = revisionOf(templateOf({ cores: 2 }));
    await fleet().kube.patch(VirtualMachinePools, metadata, 'merge', {
      metadata: {
        annotations: {
          [REQUESTED_BY_ANNOTATION]: requesterAnnotation('ada@desk', second),
          [CHANGE_CAUSE_ANNOTATION]: 'more cores',
        },
      },
      spec: { template: templateOf({ cores: 2 }) },
    });
    await pool.untilComplete(second);
    const [one, two] = await kept(pool);
    expect(one).toMatchObject({
      metadata: { name: `web-${first}`, annotations: { [REQUESTED_BY_ANNOTATION]: 'test' } },
      revision: 1,
      data: { template: templateOf() },
    });
    expect(two).toMatchObject({
      metadata: {
        name: `web-${second}`,
        labels: { [POOL_LABEL]: 'web', [REVISION_LABEL]: second },
        annotations: { [REQUESTED_BY_ANNOTATION]: 'ada@desk', [CHANGE_CAUSE_ANNOTATION]: 'more cores' },
        ownerReferences: [
          { kind: 'VirtualMachinePool', name: 'web', uid: metadata.uid, controller: true, blockOwnerDeletion: true },
        ],
      },
      revision: 2,
      data: { template: templateOf({ cores: 2 }) },
    });
    await pool.change(templateOf());
    await pool.untilComplete(first);
    expect(await numbers(pool)).toEqual([
      [second, 2],
      [first, 3],
    ]);
    expect((await kept(pool))[1]!.metadata.name).toBe(one!.metadata.name);
  });

  test('are not made by a change of anything but the template', async () => {
    const pool = await aPool({ replicas: 1 });
    const before = await pool.vmiUids();
    await pool.patch({
      replicas: 2,
      paused: true,
      maxUnavailable: 1,
      updateStrategy: { opportunistic: {} },
      rollout: { minReadySeconds: 1 },
    });
    await pool.until({
      replicas: 2,
      readyReplicas: 2,
      updatedReplicas: 2,
      currentRevision: first,
      updateRevision: first,
    });
    await pool.patch({ paused: false, updateStrategy: { opportunistic: null, proactive: { disruption: 'Live' } } });
    await pool.until({ readyReplicas: 2, currentRevision: first, updateRevision: first });
    expect(await pool.vmiUids()).toMatchObject(before);
    expect(await numbers(pool)).toEqual([[first, 1]]);
  });

  test('are forgotten beyond the limit, unless they are in use', async () => {
    const pool = await aPool({ replicas: 2, maxUnavailable: 2, revisionHistoryLimit: 1 });
    await pool.patchVm('web-1', { metadata: { annotations: { [DO_NOT_DISRUPT_ANNOTATION]: 'true' } } });
    const [third = '', fourth = ''] = [3, 4].map((cores) => revisionOf(templateOf({ cores })));
    for (const cores of [2, 3, 4]) {
      await pool.change(templateOf({ cores }));
      await until(async () =>
        expect(await pool.revisions()).toMatchObject({
          'web-2': [revisionOf(templateOf({ cores })), revisionOf(templateOf({ cores }))],
        }),
      );
    }
    await until(async () =>
      expect(await numbers(pool)).toEqual([
        [first, 1],
        [third, 3],
        [fourth, 4],
      ]),
    );
    await pool.patch({ revisionHistoryLimit: 0 });
    await until(async () =>
      expect(await numbers(pool)).toEqual([
        [first, 1],
        [fourth, 4],
      ]),
    );
    await pool.patchVm('web-1', { metadata: { annotations: { [DO_NOT_DISRUPT_ANNOTATION]: null } } });
    await pool.untilComplete(fourth);
    await until(async () => expect(await numbers(pool)).toEqual([[fourth, 4]]));
  });
});

describe('strategies', () => {
  test('opportunistic restarts no VM: VMs get the template when they restart for another reason, and are reported until then', async () => {
    const pool = await aPool({ replicas: 4, template: templateOf(slow), updateStrategy: { opportunistic: {} } });
    const old = revisionOf(templateOf(slow));
    await pool.power('web-1', 'stop');
    await until(async () => expect([...(await pool.vmis()).keys()]).not.toContain('web-1'));
    const before = await pool.vmiUids();
    const next = await pool.change(templateOf({ cores: 2, ...slow }));
    await until(async () => expect(await pool.revisions()).toMatchObject({ 'web-1': [next, undefined] }));
    await pool.untilSaid({ Progressing: 'OutdatedVms' });
    expect((await pool.condition('Progressing'))!.message).toContain(
      'web-2 … web-4: it waits for a restart, which the pool leaves to users',
    );
    expect(await pool.vmiUids()).toEqual(before);

    await fleet().kube.delete(VirtualMachineInstances, { namespace: pool.namespace, name: 'web-2' });
    await until(async () => expect(await pool.revisions()).toMatchObject({ 'web-2': [next, next] }));
    await pool.until({ readyReplicas: 3, updatedReplicas: 2, currentRevision: old, updateRevision: next });
    const { 'web-1': _halted, 'web-2': _restarted, ...others } = before;
    expect(await pool.vmiUids()).toMatchObject(others);
    expect(await pool.revisions()).toMatchObject({
      'web-1': [next, undefined],
      'web-3': [next, old],
      'web-4': [next, old],
    });
    await pool.power('web-3', 'restart');
    await until(async () => expect(await pool.revisions()).toMatchObject({ 'web-3': [next, next] }));
    await pool.power('web-4', 'stop');
    await until(async () => expect(await pool.revisions()).toMatchObject({ 'web-4': [next, undefined] }));
    await pool.until({ updatedReplicas: 4, currentRevision: next });
  });
});

test('labels and annotations alone restart no VM, reach VM and VMI, and are removed again; those of users stay', async () => {
  const with1 = templateOf({
    vmMetadata: { labels: { team: 'red', old: 'vm' }, annotations: { note: 'one', old: 'vm' } },
    labels: { app: 'one', old: 'vmi' },
    annotations: { hint: 'one', old: 'vmi' },
  });
  const with2 = templateOf({
    vmMetadata: { labels: { team: 'blue' }, annotations: { note: 'two' } },
    labels: { app: 'two' },
    annotations: { hint: 'two' },
  });
  const pool = await aPool({ replicas: 2, template: with1, updateStrategy: { proactive: { disruption: 'None' } } });
  const mine = { metadata: { labels: { mine: 'label' }, annotations: { mine: 'note' } } };
  await Promise.all([pool.patchVm('web-1', mine), pool.patchVmi('web-1', mine)]);
  const before = await pool.vmiUids();
  const next = await pool.change(with2);
  await pool.untilPodsAreOutdated(next);
  expect(await pool.status()).toMatchObject({ outdatedPodReplicas: 2 });
  expect(await pool.vmiUids()).toEqual(before);
  for (const name of namesUpTo('web', 2)) {
    const [vm, vmi] = await Promise.all([pool.vm(name), pool.vmi(name)]);
    const theirs = name === 'web-1' ? { mine: 'label' } : {};
    expect(vm.metadata.labels).toEqual({ team: 'blue', [POOL_LABEL]: 'web', [REVISION_LABEL]: next, ...theirs });
    expect(vm.metadata.annotations).toMatchObject({ note: 'two', ...(name === 'web-1' ? { mine: 'note' } : {}) });
    expect(vmi.metadata.labels).toMatchObject({ app: 'two', [POOL_LABEL]: 'web', [REVISION_LABEL]: next, ...theirs });
    expect(vmi.metadata.annotations).toMatchObject({ hint: 'two', ...(name === 'web-1' ? { mine: 'note' } : {}) });
    for (const { metadata } of [vm, vmi]) {
      expect(metadata.labels).not.toHaveProperty('old');
      expect(metadata.annotations).not.toHaveProperty('old');
    }
  }
  await pool.untilComplete(await pool.change(with1));
  expect(await pool.vmiUids()).toEqual(before);
});

describe("a user's choice", () => {
  test.each(sample(['Manual', 'RerunOnFailure', 'Once'] as const))(
    'a VM of run strategy %s is restarted once if it runs, and not started if it does not',
    async (runStrategy) => {
      const shape = { vm: { runStrategy } };
      const namespace = await fleet().namespace();
      await fleet().createPool(namespace, 'web', { replicas: 3, template: templateOf(shape), maxUnavailable: 1 });
      const pool = TestPool.of(fleet(), namespace);
      await pool.until({ replicas: 3 });
      if (runStrategy === 'Manual') await Promise.all(['web-1', 'web-2'].map((name) => pool.power(name, 'start')));
      else {
        await pool.until({ readyReplicas: 3 });
        await pool.power('web-3', 'stop');
      }
      await until(async () => expect([...(await pool.vmis()).keys()]).toEqual(['web-1', 'web-2']));
      await pool.until({ readyReplicas: 2, updatedReplicas: 3 });
      const watch = await pool.watched();
      const next = await pool.change(templateOf({ cores: 2, ...shape }));
      await pool.until({ readyReplicas: 2, updatedReplicas: 3, currentRevision: next });
      await watch.caughtUp();
      expect(namesUpTo('web', 3).map((name) => watch.log.restartsOf(name).length)).toEqual([1, 1, 0]);
      expect(watch.log.mostUnavailable()).toBe(1);
      expect(await pool.revisions()).toEqual({
        'web-1': [next, next],
        'web-2': [next, next],
        'web-3': [next, undefined],
      });
    },
  );

  test('a hot-plugged device, and a restored disk, survive', async () => {
    const dataVolumeTemplates = [
      {
        metadata: { name: 'root' },
        spec: { source: { blank: {} }, storage: { resources: { requests: { storage: '1Gi' } } } },
      },
    ];
    const shape = { vm: { dataVolumeTemplates }, vmi: { volumes: [{ name: 'root', dataVolume: { name: 'root' } }] } };
    const pool = await aPool({ replicas: 2, maxUnavailable: 2, template: templateOf(shape) });
    const claims = async (): Promise<string[]> =>
      (await fleet().kube.list(PersistentVolumeClaims, { namespace: pool.namespace })).items.map(
        ({ metadata }) => metadata.name,
      );
    expect(await claims()).toEqual(['root-1', 'root-2']);
    await fleet().kube.create(PersistentVolumeClaims, {
      metadata: { namespace: pool.namespace, name: 'restore-1' },
      spec: { accessModes: ['ReadWriteMany'], resources: { requests: { storage: '1Gi' } } },
    });
    const restored = { name: 'root', persistentVolumeClaim: { claimName: 'restore-1' } };
    const plugged = { name: 'extra', emptyDisk: { capacity: '1Gi' } };
    const disks = [{ name: 'extra', disk: { bus: 'scsi' }, serial: 'mine' }];
    // KubeVirt rejects disk templates that no volume names, so a restore removes the template.
    await pool.patchVm('web-1', {
      spec: {
        dataVolumeTemplates: [],
        template: { spec: { volumes: [restored, plugged], domain: { devices: { disks } } } },
      },
    });
    const next = await pool.change(templateOf({ cores: 2, ...shape }));
    await pool.untilComplete(next);
    const { spec } = await pool.vm('web-1');
    expect(spec.template.spec).toMatchObject({ domain: { cpu: { cores: 2 }, devices: { disks } } });
    expect(spec.template.spec.volumes).toEqual(expect.arrayContaining([restored, plugged]));
    expect((await pool.vmi('web-1')).spec).toMatchObject({
      domain: { cpu: { cores: 2 }, devices: { disks: expect.arrayContaining(disks) as unknown[] } },
    });
    expect((await pool.vm('web-2')).spec.template.spec.volumes).toEqual([
      { name: 'root', dataVolume: { name: 'root-2' } },
    ]);
  });
});

describe('a rollout in progress', () => {
  test('waits for a VM that a user has paused, and reports it', async () => {
    const pool = await aPool({ maxUnavailable: 2 });
    const vmi = (verb: string): Promise<void> =>
      fleet().kube.request({
        method: 'PUT',
        path: `/apis/subresources.kubevirt.io/v1/namespaces/${pool.namespace}/virtualmachineinstances/web-2/${verb}`,
        body: {},
      });
    await vmi('pause');
    await pool.until({ readyReplicas: 2 });
    const { 'web-2': uid } = await pool.vmiUids();
    const next = await pool.change(templateOf({ cores: 2 }));
    await pool.until({ updatedReplicas: 2, currentRevision: first });
    await until(async () =>
      expect((await pool.condition('Progressing'))!).toMatchObject({
        reason: 'RollingOut',
        message: expect.stringContaining('web-2: it is paused') as string,
      }),
    );
    expect(await pool.vmiUids()).toMatchObject({ 'web-2': uid });
    await vmi('unpause');
    await pool.untilComplete(next);
  });
});

test('status, Events, ids, search attributes and details show how a rollout proceeds', async () => {
  const pool = await aPool({ replicas: 2, maxUnavailable: 1, rollout: { steps: [approvalAt(1)] } });
  const { metadata } = await pool.get();
  const annotation = requesterAnnotation('ada@desk', revisionOf(templateOf({ cores: 2 })));
  await fleet().kube.patch(VirtualMachinePools, metadata, 'merge', {
    metadata: { annotations: { [REQUESTED_BY_ANNOTATION]: annotation } },
  });
  const next = await pool.change(templateOf({ cores: 2 }));
  await pool.untilSaid({ Progressing: 'WaitingForApproval', Paused: 'NotPaused', Degraded: 'NoFailures' });
  expect(await pool.status()).toMatchObject({
    currentRevision: first,
    updateRevision: next,
    updatedReplicas: 1,
    rollout: { revision: next, batches: 1, lastBatch: 1, step: 0 },
  });
  const { client } = fleet().temporal;
  await until(async () => {
    const { typedSearchAttributes } = await pool.workflow.describe();
    expect([DroverPhase, DroverRevision].map((key) => typedSearchAttributes.get(key))).toEqual(['Waiting', next]);
  });
  const details = async (id: string): Promise<string> => {
    const metadata = await client.workflow
      .getHandle(id)
      .query<{ currentDetails?: string }>('__temporal_workflow_metadata');
    return metadata.currentDetails ?? '';
  };
  const poolId = `pool/default/${pool.namespace}/web`;
  await until(async () =>
    expect(await details(poolId)).toMatch(
      new RegExp(
        `\\*\\*Rollout of ${next}\\*\\*: Waiting[^]*step 1 of 1 \\(1\\) is reached: it waits for \\\\?\`drover rollout promote`,
      ),
    ),
  );

  await pool.request('promote');
  await pool.untilComplete(next);
  expect((await pool.status()).rollout).toMatchObject({
    batches: 2,
    lastBatch: 2,
    step: 1,
    completedAt: expect.any(String) as string,
  });
  const third = await pool.change(templateOf({ cores: 3 }));
  await pool.untilSaid({ Progressing: 'WaitingForApproval' });
  await until(async () =>
    expect((await pool.batches()).map(({ id, status }) => [id, status])).toEqual(
      [
        [`${poolId}/update/${next}/1`, 'COMPLETED'],
        [`${poolId}/update/${next}/2`, 'COMPLETED'],
        [`${poolId}/update/${third}/3`, 'COMPLETED'],
      ].toSorted(([one = ''], [other = '']) => one.localeCompare(other)),
    ),
  );
  const batchId = `${poolId}/update/${next}/1`;
  const described = await client.workflow.getHandle(batchId).describe();
  expect(
    [DroverCluster, DroverPool, DroverRevision, DroverPhase].map((key) => described.typedSearchAttributes.get(key)),
  ).toEqual(['default', 'web', next, 'Complete']);
  expect(await described.staticSummary()).toMatch(new RegExp(`^Batch 1: update web-\\d to ${next} \\(restart\\)$`));
  expect(await details(batchId)).toMatch(
    new RegExp(
      `\\*\\*Complete\\*\\*: 1/1 updated\n\nbatch 1 to revision ${next}, requested by ada@desk\n\nrestart: web-\\d`,
    ),
  );
  const events = await pool.events();
  for (const name of namesUpTo('web', 2))
    expect(events).toContainEqual({ reason: 'SuccessfulUpdate', note: `Brought ${name} to revision ${next}` });
});

test('a VM that the API server refuses with the new template fails, and is named', async () => {
  const pool = await aPool({ replicas: 2, maxUnavailable: 1 });
  const before = await pool.vmiUids();
  await pool.change(templateOf({ cores: 2, vmi: { terminationGracePeriodSeconds: 'soon' } }));
  await pool.untilSaid({ Progressing: 'Failed', Degraded: 'Failed' });
  expect((await pool.condition('Degraded'))!.message).toMatch(/web-\d: .*terminationGracePeriodSeconds/);
  expect(await pool.vmiUids()).toEqual(before);
  expect(await pool.events()).toContainEqual({
    reason: 'FailedUpdate',
    note: expect.stringMatching(/web-\d: /) as string,
  });
  expect(await ignoreNotFound(pool.vm('web-1'))).toMatchObject({ metadata: { labels: { [REVISION_LABEL]: first } } });
});
