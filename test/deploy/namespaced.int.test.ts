import { expect, onTestFinished, test } from 'vitest';
import { CLAIM_NAME } from '../../api/claim.ts';
import { Leases, VirtualMachineInstances } from '../../api/resources.ts';
import { setup } from '../../clients/setup/setup.ts';
import { revisionOf } from '../../decisions/template/revision.ts';
import { KubeClient } from '../../kubernetes/client.ts';
import { loadKubeConfig } from '../../kubernetes/config.ts';
import { poolIdOf } from '../../workflows/lib/messages.ts';
import { chaosProxy } from '../integration/chaos-proxy.ts';
import { aFleet, namesUpTo, runningTemplate, until } from '../integration/fleet.ts';
import { TestOperation, aSecondLater } from '../integration/operations/operations.ts';
import { rightFor, rightsOf, readManifests } from './rights.ts';
import { createNamespacedAccounts, kubeconfigOf } from './service-accounts.ts';

const fleet = aFleet({ workers: 0 });

test('a worker serves one namespace with Roles alone: it scales, updates, heals and restarts there, and needs nothing beyond it', async () => {
  const namespace = await fleet().namespace();
  const other = await fleet().namespace();
  await createNamespacedAccounts(fleet().kube, namespace);

  // Its admin sets it up, with rights in the namespace alone.
  const said: string[] = [];
  const kube = new KubeClient(loadKubeConfig({ kubeconfig: await kubeconfigOf(fleet(), 'drover-setup', namespace) }));
  onTestFinished(() => kube.close());
  const say = (line: string): void => void said.push(line);
  await setup({ kube, temporal: fleet().temporal, cluster: namespace, namespace, say });
  expect(said).toContain('customresourcedefinition.apiextensions.k8s.io/virtualmachinepools.drover.dev is served');

  const used = new Set<string>();
  const beyond = new Set<string>();
  const proxy = await chaosProxy(await kubeconfigOf(fleet(), 'drover-worker', namespace), (method, path) => {
    used.add(rightFor(method, path));
    if (!new RegExp(`/namespaces/${namespace}(?:[/?]|$)`).test(path)) beyond.add(`${method} ${path}`);
    return 'pass';
  });
  await fleet().startWorker({ KUBECONFIG: proxy.kubeconfig, DROVER_NAMESPACE: namespace, DROVER_CLUSTER: namespace });

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

  const own = { kube, temporal, namespace, say: () => {} };
  await setup({ ...own, cluster: namespace });
  await expect(setup({ ...own, cluster: 'another' })).rejects.toThrow(
    `namespace ${namespace} is left to the drover workers of ${namespace}`,
  );
  const { workflow } = temporal.client;
  const left = poolIdOf({ cluster: 'default', namespace, name: 'web' });
  await until(async () => expect((await workflow.getHandle(left).describe()).status.name).toBe('COMPLETED'));
  const before = written.length;
  const worker = await fleet().startWorker({ DROVER_NAMESPACE: namespace, DROVER_CLUSTER: namespace });
  await fleet().patchPool(namespace, 'web', { replicas: 2 });
  await fleet().settled(namespace, 'web', namesUpTo('web', 2));
  expect(written.slice(before)).toEqual([]);

  await worker.kill();
  await kube.delete(Leases, { namespace, name: CLAIM_NAME });
  await fleet().patchPool(namespace, 'web', { replicas: 3 });
  await fleet().settled(namespace, 'web', namesUpTo('web', 3));
  expect(written.slice(before)).not.toEqual([]);
});
