import { expect, onTestFinished, test } from 'vitest';
import { CLAIM_NAME, claimOf, workersOf } from '../../api/claims/claim.ts';
import { Leases, Namespaces, VirtualMachineInstances, VirtualMachinePools } from '../../api/resources.ts';
import { setup } from '../../clients/setup/setup.ts';
import { revisionOf } from '../../decisions/template/revision.ts';
import { KubeClient } from '../../kubernetes/client.ts';
import { loadKubeConfig } from '../../kubernetes/config.ts';
import { ignoreNotFound } from '../../kubernetes/errors.ts';
import { poolIdOf } from '../../workflows/lib/messages.ts';
import { chaosProxy } from '../integration/chaos-proxy.ts';
import { aFleet, namesUpTo, runningTemplate, until } from '../integration/fleet.ts';
import { TestOperation, aSecondLater, userWith } from '../integration/operations/operations.ts';
import { TestSchedule } from '../integration/schedules/schedules.ts';
import { rightFor, rightsOf, readManifests } from './rights.ts';
import { createNamespacedAccounts, createRoles, kubeconfigOf } from './service-accounts.ts';

const fleet = aFleet({ workers: 0 });

test('a worker serves one namespace with Roles alone: it scales, updates, heals and restarts there, also by a schedule, and needs nothing beyond it', async () => {
  const namespace = await fleet().namespace();
  const other = await fleet().namespace();
  await createNamespacedAccounts(fleet().kube, namespace);

  // Its admin sets it up, with rights in the namespace alone.
  const said: string[] = [];
  const kube = new KubeClient(loadKubeConfig({ kubeconfig: await kubeconfigOf(fleet(), 'drover-setup', namespace) }));
  onTestFinished(() => kube.close());
  const say = (line: string): void => void said.push(line);
  await setup({ kube, temporal: fleet().temporal, cluster: 'default', namespaces: [namespace], say });
  expect(said).toContain('customresourcedefinition.apiextensions.k8s.io/virtualmachinepools.drover.dev is served');

  const used = new Set<string>();
  const beyond = new Set<string>();
  const proxy = await chaosProxy(await kubeconfigOf(fleet(), 'drover-worker', namespace), (method, path) => {
    used.add(rightFor(method, path));
    if (!new RegExp(`/namespaces/${namespace}(?:[/?]|$)`).test(path)) beyond.add(`${method} ${path}`);
    return 'pass';
  });
  await fleet().startWorker({ KUBECONFIG: proxy.kubeconfig, DROVER_NAMESPACE: namespace });

  await fleet().createPool(other, 'theirs', { replicas: 1 });
  await fleet().createPool(namespace, 'web', { replicas: 1, template: runningTemplate, maxUnavailable: 1 });
  await fleet().settled(namespace, 'web', namesUpTo('web', 1));
  await fleet().patchPool(namespace, 'web', { replicas: 3 });
  const ready = (wanted: object = {}): Promise<void> =>
    until(async () =>
      expect((await fleet().pool(namespace, 'web'))?.status).toMatchObject({ readyReplicas: 3, ...wanted }),
    );
  await ready();

  const vmis = async (): Promise<string[]> =>
    (await fleet().kube.list(VirtualMachineInstances, { namespace })).items.map(({ metadata }) => metadata.uid).sort();
  const before = await vmis();
  const template = structuredClone(runningTemplate);
  (template.spec.template as { spec: { domain: { cpu?: object } } }).spec.domain.cpu = { cores: 2 };
  await fleet().patchPool(namespace, 'web', { template });
  await ready({ updatedReplicas: 3, currentRevision: revisionOf(template) });
  expect((await vmis()).filter((uid) => before.includes(uid))).toEqual([]);

  await aSecondLater();
  const updated = await vmis();
  const operation = await TestOperation.make(fleet().kube, namespace, { vms: { selector: {} } });
  await operation.stands('Complete');
  expect((await vmis()).filter((uid) => updated.includes(uid))).toEqual([]);

  await aSecondLater();
  const restarted = await vmis();
  const operationTemplate = { spec: { action: 'Restart', vms: { selector: {} } } } as const;
  const workers = workersOf('default', namespace);
  const schedule = await TestSchedule.make(
    fleet(),
    namespace,
    { successfulOperationsHistoryLimit: 0, operationTemplate },
    workers,
  );
  await schedule.wasDue(2);
  await schedule.until({
    lastSuccessfulTime: expect.any(String) as string,
    conditions: [
      { type: 'Ready', reason: 'Scheduled' },
      { type: 'Succeeded', status: 'True', reason: 'Complete' },
    ],
  });
  expect((await vmis()).filter((uid) => restarted.includes(uid))).toEqual([]);
  await until(async () => expect(await schedule.operations()).toEqual([]));

  const sick = structuredClone(runningTemplate);
  const { annotations } = (sick.spec.template as { metadata: { annotations: Record<string, string> } }).metadata;
  annotations['sim.drover.dev/fail-starts'] = 'always';
  await fleet().createPool(namespace, 'sick', {
    replicas: 1,
    template: sick,
    autohealing: { startupFailureThreshold: 1, backoff: { initial: '1h' } },
  });
  await until(async () =>
    expect((await fleet().pool(namespace, 'sick'))?.status?.healing?.cycles).toMatchObject([{ phase: 'Waiting' }]),
  );

  expect([...beyond]).toEqual([]);
  const granted = rightsOf(readManifests('components/namespaced/role.yaml')[0]!);
  expect([...used].filter((right) => !granted.includes(right))).toEqual([]);
  expect((await fleet().pool(other, 'theirs'))!.status).not.toHaveProperty('conditions');
});

test('a namespace with its own workers belongs to them alone until it is given back', async () => {
  const { temporal, kube } = fleet();
  const namespace = await fleet().namespace();
  const written: string[] = [];
  const proxy = await chaosProxy(fleet().stack.kubeconfig, (method, path) => {
    if (method !== 'GET' && path.includes(`/namespaces/${namespace}/`)) written.push(`${method} ${path}`);
    return 'pass';
  });
  await fleet().startWorker({ KUBECONFIG: proxy.kubeconfig });
  await fleet().createPool(namespace, 'web', { replicas: 1 });
  await fleet().settled(namespace, 'web', namesUpTo('web', 1));

  const own = { kube, temporal, namespaces: [namespace], say: () => {} };
  await setup({ ...own, cluster: 'default' });
  await expect(setup({ ...own, cluster: 'another' })).rejects.toThrow(
    `namespace ${namespace} is left to the drover workers ${workersOf('default', namespace)}`,
  );
  const { workflow } = temporal.client;
  const left = poolIdOf({ cluster: 'default', namespace, name: 'web' });
  await until(async () => expect((await workflow.getHandle(left).describe()).status.name).toBe('COMPLETED'));
  const before = written.length;
  await createNamespacedAccounts(kube, namespace);
  const worker = await fleet().startWorker({
    KUBECONFIG: await kubeconfigOf(fleet(), 'drover-worker', namespace),
    DROVER_NAMESPACE: namespace,
  });
  await fleet().patchPool(namespace, 'web', { replicas: 2 });
  await fleet().settled(namespace, 'web', namesUpTo('web', 2));
  expect(written.slice(before)).toEqual([]);

  await worker.kill();
  await kube.delete(Leases, { namespace, name: CLAIM_NAME });
  await fleet().patchPool(namespace, 'web', { replicas: 3 });
  await fleet().settled(namespace, 'web', namesUpTo('web', 3));
  expect(written.slice(before)).not.toEqual([]);
});

test('a worker serves several namespaces: one that others hold, that is not there yet, or is made again, holds up no other', async () => {
  const { kube, temporal } = fleet();
  const [first, held] = [await fleet().namespace(), await fleet().namespace()];
  const later = `${first}-later`;
  await createNamespacedAccounts(kube, first);
  await createRoles(kube, held, first);
  const claim = (namespace: string): Promise<void> =>
    setup({ kube, temporal, cluster: 'default', namespaces: [namespace], say: () => {} });
  await claim(first);
  await kube.create(Leases, claimOf(held, 'others'));
  await fleet().createPool(held, 'web', { replicas: 1 });
  await fleet().startWorker({
    KUBECONFIG: await kubeconfigOf(fleet(), 'drover-worker', first),
    DROVER_NAMESPACE: [held, later, first].join(','),
  });
  const settles = async (namespace: string, replicas: number): Promise<void> => {
    await fleet().patchPool(namespace, 'web', { replicas });
    await fleet().settled(namespace, 'web', namesUpTo('web', replicas));
  };
  await fleet().createPool(first, 'web', { replicas: 1 });
  await settles(first, 2);
  expect((await fleet().pool(held, 'web'))!.metadata).not.toHaveProperty('finalizers');

  await kube.delete(Leases, { namespace: held, name: CLAIM_NAME });
  await claim(held);
  await settles(held, 1);

  const begins = async (): Promise<void> => {
    await until(async () => void (await kube.create(Namespaces, { metadata: { name: later } })));
    await createRoles(kube, later, first);
    // A worker that saw the one before says that it is another one now.
    await until(() => claim(later));
    await fleet().createPool(later, 'web', { replicas: 1 });
    await settles(later, 1);
  };
  await begins();
  await kube.delete(VirtualMachinePools, { namespace: later, name: 'web' });
  await until(async () => expect(await fleet().pool(later, 'web')).toBeUndefined());
  await kube.delete(Namespaces, { name: later });
  await begins();
});

test('only a user who may claim pools leaves a namespace to workers of its own, or takes it back', async () => {
  const { kube } = fleet();
  const namespace = await fleet().namespace();
  const leases = { apiGroups: [Leases.group], resources: ['leases'], verbs: ['create', 'get', 'patch', 'delete'] };
  const mayClaim = { apiGroups: ['drover.dev'], resources: ['virtualmachinepools'], verbs: ['claim'] };
  const editor = await userWith(fleet(), namespace, 'editor', [leases]);
  const admin = await userWith(fleet(), namespace, 'admin', [leases, mayClaim]);
  const at = { namespace, name: CLAIM_NAME };
  const refusal = `${editor.username} may not say which workers of drover serve namespace ${namespace}`;
  await expect(editor.kube.create(Leases, claimOf(namespace, 'mine'))).rejects.toThrow(refusal);
  // Other Leases are nobody's business.
  await editor.kube.create(Leases, { metadata: at });
  const label = { metadata: { labels: claimOf(namespace, 'mine').metadata.labels } };
  await expect(editor.kube.patch(Leases, at, 'merge', label)).rejects.toThrow(refusal);
  await admin.kube.patch(Leases, at, 'merge', { ...label, spec: { holderIdentity: 'theirs' } });
  const takeOver = { spec: { holderIdentity: 'mine' } };
  await expect(editor.kube.patch(Leases, at, 'merge', takeOver)).rejects.toThrow(refusal);
  await expect(editor.kube.patch(Leases, at, 'merge', { metadata: { labels: null } })).rejects.toThrow(refusal);
  await expect(editor.kube.delete(Leases, at)).rejects.toThrow(refusal);
  // With its namespace it goes, whoever deletes that, and on some clusters before the editor asks.
  await kube.delete(Namespaces, { name: namespace });
  await until(async () => void (await ignoreNotFound(editor.kube.delete(Leases, at))));
});
