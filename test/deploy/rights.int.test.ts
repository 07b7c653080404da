import { beforeAll, expect, test } from 'vitest';
import { POOL_LABEL, REVISION_LABEL } from '../../api/labels-and-annotations.ts';
import type { KubeObject } from '../../api/objects.ts';
import type { PoolSpec } from '../../api/pool/pool.ts';
import {
  ClusterVirtualMachineDisruptionBudgets,
  ControllerRevisions,
  KubeVirts,
  VirtualMachineDisruptionBudgets,
  VirtualMachineInstances,
  VirtualMachinePools,
  VirtualMachines,
} from '../../api/resources.ts';
import type { ScheduleSpec } from '../../api/schedules/schedule.ts';
import type { StoredBudget } from '../../decisions/disruption-budget/stored-budget.ts';
import { revisionOf } from '../../decisions/template/revision.ts';
import { chaosProxy } from '../integration/chaos-proxy.ts';
import { TestDrain } from '../integration/drain/drains.ts';
import { aFleet, namesUpTo, runningTemplate, until } from '../integration/fleet.ts';
import { withDisk } from '../integration/healing/healings.ts';
import { TypedVms } from '../integration/machine-types/machine-types.ts';
import { TestOperation } from '../integration/operations/operations.ts';
import { INSTANCES, TestSets } from '../integration/replica-sets/sets.ts';
import { TestSchedule } from '../integration/schedules/schedules.ts';
import { readManifests, rightFor, rightsOf } from './rights.ts';
import { createServiceAccounts, kubeconfigOf } from './service-accounts.ts';

const fleet = aFleet({ workers: 0 });
beforeAll(() => createServiceAccounts(fleet().kube));

type Template = PoolSpec['template'];

/** Returns the template with another VMI spec, metadata or run strategy. */
function withVmi(
  template: Template,
  { cores, label, runStrategy }: { cores?: number; label?: string; runStrategy?: string },
): Template {
  const { spec } = structuredClone(template);
  const vmi = spec.template as { metadata: object; spec: { domain: object } };
  if (cores !== undefined) vmi.spec.domain = { ...vmi.spec.domain, cpu: { cores } };
  if (label !== undefined) vmi.metadata = { ...vmi.metadata, labels: { mark: label } };
  return { spec: { ...spec, ...(runStrategy === undefined ? {} : { runStrategy }) } };
}

/** Resolves when all VMIs of the pool run this template. */
const runs = (namespace: string, pool: string, template: Template): Promise<void> =>
  until(async () => {
    const { spec, status } = (await fleet().pool(namespace, pool))!;
    const revision = revisionOf(template);
    expect(status).toMatchObject({
      readyReplicas: spec.replicas,
      updatedReplicas: spec.replicas,
      currentRevision: revision,
    });
    const vmis = (await fleet().kube.list(VirtualMachineInstances, { namespace })).items.filter(({ metadata }) =>
      metadata.name.startsWith(`${pool}-`),
    );
    expect(vmis.map(({ metadata }) => metadata.labels?.[REVISION_LABEL])).toEqual(
      Array.from({ length: spec.replicas! }, () => revision),
    );
  });

test('a worker does all of its work with the rights of its service account, and uses each of them', async () => {
  const used = new Set<string>();
  const proxy = await chaosProxy(await kubeconfigOf(fleet(), 'drover-worker'), (method, path) => {
    used.add(rightFor(method, path));
    return 'pass';
  });
  await fleet().startWorker({ KUBECONFIG: proxy.kubeconfig });
  const namespace = await fleet().namespace();

  await budgetsHold(namespace);
  await fleet().createPool(namespace, 'web', { replicas: 2, template: runningTemplate });
  await runs(namespace, 'web', runningTemplate);
  const larger = withVmi(runningTemplate, { cores: 2 });
  await fleet().patchPool(namespace, 'web', { template: larger });
  await runs(namespace, 'web', larger);
  const labelled = withVmi(larger, { label: 'new' });
  await fleet().patchPool(namespace, 'web', { template: labelled });
  await runs(namespace, 'web', labelled);
  await fleet().kube.patch(VirtualMachinePools, { namespace, name: 'web' }, 'json', [
    { op: 'replace', path: '/spec/template', value: larger },
  ]);
  await runs(namespace, 'web', larger);
  await fleet().patchPool(namespace, 'web', { revisionHistoryLimit: 0, replicas: 1 });
  await until(async () => {
    expect(await fleet().vmNames(namespace, 'web')).toHaveLength(1);
    expect(
      (
        await fleet().kube.list<KubeObject>(ControllerRevisions, { namespace, labelSelector: `${POOL_LABEL}=web` })
      ).items.map(({ metadata }) => metadata.name),
    ).toEqual([`web-${revisionOf(larger)}`]);
  });

  const byHand = withVmi(runningTemplate, { runStrategy: 'Manual' });
  await fleet().createPool(namespace, 'hand', { replicas: 1, template: byHand });
  await fleet().settled(namespace, 'hand', namesUpTo('hand', 1));
  const { metadata } = await fleet().kube.get(VirtualMachines, { namespace, name: 'hand-1' });
  // Operations are about VMs that are older, by whole seconds.
  await until(async () => expect(Date.now()).toBeGreaterThan(Date.parse(metadata.creationTimestamp) + 1_000));
  for (const [action, isClusterWide] of [
    ['Start', false],
    ['Stop', true],
    ['Start', false],
  ] as const) {
    const spec = { action, vms: { names: ['hand-1'] }, ttlSecondsAfterFinished: 1 };
    const operation = await (isClusterWide
      ? TestOperation.make(fleet().kube, undefined, { ...spec, namespaces: [namespace] })
      : TestOperation.make(fleet().kube, namespace, spec));
    await operation.stands('Complete');
    await until(async () => expect(await operation.read()).toBeUndefined());
  }
  const stops = { spec: { action: 'Stop', vms: { names: ['hand-2'] } } } satisfies ScheduleSpec['operationTemplate'];
  const schedule = await TestSchedule.make(fleet(), namespace, { operationTemplate: stops });
  await schedule.wasDue(2);
  await until(async () => expect(await schedule.operations()).toHaveLength(1));
  await schedule.until({ lastScheduleTime: expect.any(String) as string });
  await runs(namespace, 'hand', byHand);
  const largerByHand = withVmi(byHand, { cores: 2 });
  await fleet().patchPool(namespace, 'hand', { template: largerByHand });
  await runs(namespace, 'hand', largerByHand);

  // A VM that never starts and is replaced once: drover reads the claim to see whether the disk is older than the VM.
  await fleet().kube.patch(KubeVirts, { namespace: 'kubevirt', name: 'kubevirt' }, 'merge', {
    metadata: { annotations: { 'sim.drover.dev/backoff-factor': '0.01' } },
  });
  const template = withDisk({ annotations: { 'sim.drover.dev/fail-starts': 'always' } });
  await fleet().createPool(namespace, 'sick', {
    replicas: 1,
    template,
    autohealing: { startupFailureThreshold: 2, backoff: { initial: '1h' } },
  });
  await until(async () =>
    expect((await fleet().pool(namespace, 'sick'))?.status?.healing?.cycles).toMatchObject([{ phase: 'Waiting' }]),
  );

  await drainsAndStandby(namespace);

  const sets = new TestSets(fleet);
  await sets.create(namespace, 'cattle', { replicas: 1 });
  await sets.settled(namespace, 'cattle', 1);
  const instances = new TestSets(fleet, INSTANCES);
  await instances.create(namespace, 'instances', { replicas: 1 });
  await instances.settled(namespace, 'instances', 1);

  const typedVms = await TypedVms.of(fleet(), { off: { runStrategy: 'Halted' }, runs: {} });
  expect(await (await typedVms.change({ restartNow: true })).result()).toMatchObject({
    phase: 'Complete',
    patched: 2,
    restarted: 1,
  });

  // KubeVirt tells what an instance type stands for. The simulator doesn't, and a pool continues without that.
  const { spec } = structuredClone(runningTemplate);
  const sized = { spec: { ...spec, instancetype: { name: 'small' } } };
  await fleet().createPool(namespace, 'sized', { replicas: 0, template: sized });
  await fleet().settled(namespace, 'sized', []);

  const role = readManifests('rbac/worker.yaml').find(({ kind }) => kind === 'ClusterRole')!;
  // No call needs those on finalizers; OpenShift's admission requires it when a VM is created.
  const granted = rightsOf(role).filter((right) => !/^update \w+\.drover\.dev\/finalizers$/.test(right));
  expect([...used].filter((right) => !granted.includes(right))).toEqual([]);
  // Migrations are read only if one was in flight already, which integration/drain covers on KubeVirt's own virt-api.
  // One that KubeVirt has not begun for a quarter of an hour is deleted: test/model/stories/drain.
  const ofOthers = /^(?:get|delete) virtualmachineinstancemigrations\.kubevirt\.io$/;
  // Snapshots are read only if a VM names one: test/activities/disruption. The stack has none.
  const ofSnapshots = /^get virtualmachine(?:snapshots|restores)\.snapshot\.kubevirt\.io$/;
  // What a VMI was started from is read only for a VM whose spec has changed since: test/activities/changes.
  const ofStarts = /^get controllerrevisions\.apps$/;
  // Expanding, keeping and releasing disks is covered by rollout/rollout-live and pool/deletion in test/integration.
  const ofDisks = /^(?:(?:patch|delete) persistentvolumeclaims|\w+ datavolumes\.cdi\.kubevirt\.io)$/;
  // A budget is read only if another worker has just written its status: test/model/budgets/claims.
  const ofBudgets = /^get \w+disruptionbudgets\.drover\.dev$/;
  const elsewhere = [ofBudgets, ofDisks, ofSnapshots, ofOthers, ofStarts];
  expect(granted.filter((right) => !used.has(right) && !elsewhere.some((some) => some.test(right)))).toEqual([]);
});

/** All VMs of the namespace are under two disruption budgets. */
async function budgetsHold(namespace: string): Promise<void> {
  const { kube } = fleet();
  const spec = { selector: {}, maxUnavailable: '100%' };
  const namespaceSelector = { matchLabels: { 'kubernetes.io/metadata.name': namespace } };
  const kinds = [VirtualMachineDisruptionBudgets, ClusterVirtualMachineDisruptionBudgets];
  for (const kind of kinds) {
    const isClusterWide = kind === ClusterVirtualMachineDisruptionBudgets;
    const metadata = isClusterWide ? { name: namespace } : { name: 'all', namespace };
    await kube.create(kind, { metadata, spec: isClusterWide ? { ...spec, namespaceSelector } : spec });
    const budget = async (): Promise<StoredBudget> => kube.get<StoredBudget>(kind, metadata);
    await until(async () => expect((await budget()).status?.conditions).toMatchObject([{ reason: 'Held' }, {}, {}]));
  }
}

/** A VM leaves its node, and a paused VM is promoted. */
async function drainsAndStandby(namespace: string): Promise<void> {
  const drain = await TestDrain.in(fleet());
  await drain.pool('moved', {});
  const [moved] = await drain.vmis('moved');
  await drain.evict('moved-1');
  await drain.left('moved', 1, moved!.status!.nodeName!);

  const standby = { replicas: 1, state: 'Paused' } as const;
  await fleet().createPool(namespace, 'warm', { replicas: 1, standby, template: runningTemplate });
  const warm = (wanted: object): Promise<void> =>
    until(async () => expect((await fleet().pool(namespace, 'warm'))?.status).toMatchObject(wanted));
  await warm({ readyReplicas: 1, readyStandbyReplicas: 1 });
  await fleet().patchPool(namespace, 'warm', { replicas: 2 });
  await warm({ readyReplicas: 2 });
}
