import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { KubeConfig } from '@kubernetes/client-node';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { CONFIRM_DELETION_ANNOTATION, ORPHAN_FINALIZER } from '../../api/labels-and-annotations.ts';
import { controllerOf, type KubeObject } from '../../api/objects.ts';
import {
  ConfigMaps,
  CustomResourceDefinitions,
  Events,
  Secrets,
  ValidatingAdmissionPolicies,
  ValidatingAdmissionPolicyBindings,
  VirtualMachinePools,
  VirtualMachines,
  type Resource,
} from '../../api/resources.ts';
import type { Finding } from '../../clients/doctor/finding.ts';
import { KubeClient } from '../../kubernetes/client.ts';
import { loadKubeConfig } from '../../kubernetes/config.ts';
import { nowhere } from '../clients/drover.ts';
import { droverHere } from '../clients/in-process.ts';
import { chaosProxy } from '../integration/chaos-proxy.ts';
import { aFleet, namesUpTo, until } from '../integration/fleet.ts';
import { readManifests, right, rightFor, rightsOf } from './rights.ts';
import {
  ClusterRoleBindings,
  ClusterRoles,
  createServiceAccounts,
  kubeconfigOf,
  NAMESPACE,
  tokenOf,
} from './service-accounts.ts';

const run = promisify(execFile);
const hasKubectl = spawnSync('kubectl', ['version', '--client']).status === 0;

const Pods: Resource = { group: '', version: 'v1', plural: 'pods', kind: 'Pod', namespaced: true };

// Without the simulator there is no garbage collector: drover itself must release the VMs that leave a pool.
const fleet = aFleet({ simulator: false, workers: 0 });

beforeAll(() => createServiceAccounts(fleet().kube));

const clientOf = async (account: string): Promise<KubeClient> =>
  new KubeClient(loadKubeConfig({ kubeconfig: await kubeconfigOf(fleet(), account) }));
const roleIn = (file: string, name: string): KubeObject =>
  readManifests(file).find((object) => object.kind === 'ClusterRole' && object.metadata.name === name)!;
const forbidden = expect.objectContaining({ status: 403 }) as Error;

describe('a worker with the rights of its service account', () => {
  test('scales pools out and in, releases VMs and deletes pools', async () => {
    const worker = await fleet().startWorker({ KUBECONFIG: await kubeconfigOf(fleet(), 'drover-worker') });
    const namespace = await fleet().namespace();

    await fleet().createPool(namespace, 'web', { replicas: 3 });
    await fleet().settled(namespace, 'web', namesUpTo('web', 3));
    await fleet().patchPool(namespace, 'web', { replicas: 1 });
    await until(async () => expect(await fleet().vmNames(namespace, 'web')).toHaveLength(1));
    await fleet().kube.delete(VirtualMachinePools, { namespace, name: 'web' });
    await until(async () => expect(await fleet().pool(namespace, 'web')).toBeUndefined());
    expect(await fleet().vms(namespace)).toEqual([]);
    await until(async () =>
      expect((await fleet().kube.list(Events, { namespace })).items.map(({ reason }) => reason)).toContain(
        'SuccessfulDelete',
      ),
    );

    await fleet().createPool(namespace, 'kept', { replicas: 2 });
    await fleet().settled(namespace, 'kept', namesUpTo('kept', 2));
    await fleet().kube.delete(VirtualMachinePools, { namespace, name: 'kept' }, { propagationPolicy: 'Orphan' });
    await until(async () => {
      expect((await fleet().vms(namespace)).map(controllerOf)).toEqual([undefined, undefined]);
      expect((await fleet().pool(namespace, 'kept'))!.metadata.finalizers).toEqual([ORPHAN_FINALIZER]);
    });
    await worker.stop();
  });

  test('can do nothing beyond that', async () => {
    const namespace = await fleet().namespace();
    const kube = await clientOf('drover-worker');
    const pod: KubeObject = {
      metadata: { namespace, name: 'pod' },
      spec: { containers: [{ name: 'pod', image: 'pod' }] },
    };
    await expect(kube.list(VirtualMachines)).resolves.toBeDefined();
    await expect(kube.list(Secrets)).rejects.toEqual(forbidden);
    await expect(kube.list(ConfigMaps, { namespace })).rejects.toEqual(forbidden);
    await expect(kube.create(Pods, pod)).rejects.toEqual(forbidden);
    await expect(kube.delete(VirtualMachinePools, { namespace, name: 'web' })).rejects.toEqual(forbidden);
    await expect(kube.patch(ClusterRoles, { name: 'drover-worker' }, 'merge', { rules: [] })).rejects.toEqual(
      forbidden,
    );
    await kube.close();
  });

  test('finds the cluster from inside a pod, by the files that Kubernetes puts there', async () => {
    const folder = join(fleet().stack.state, 'pod');
    const files = join(folder, 'var/run/secrets/kubernetes.io/serviceaccount');
    mkdirSync(files, { recursive: true });
    const { server, caData } = loadKubeConfig({ kubeconfig: fleet().stack.kubeconfig }).getCurrentCluster()!;
    writeFileSync(join(files, 'ca.crt'), Buffer.from(caData!, 'base64'));
    writeFileSync(join(files, 'token'), await tokenOf(fleet(), 'drover-worker'));
    vi.stubEnv('KUBERNETES_SERVICE_HOST', new URL(server).hostname);
    vi.stubEnv('KUBERNETES_SERVICE_PORT', new URL(server).port);
    const config = new KubeConfig();
    config.loadFromCluster(folder);
    vi.unstubAllEnvs();
    const kube = new KubeClient(config);
    await expect(kube.list(VirtualMachinePools)).resolves.toBeDefined();
    await kube.close();
  });
});

describe('`drover setup` with the rights of its service account', () => {
  test('brings the custom resources up to date, and uses each of its rights', async () => {
    // An apply that makes an object needs the right to create it as well.
    const policies = [ValidatingAdmissionPolicies, ValidatingAdmissionPolicyBindings];
    for (const policy of policies) await fleet().kube.delete(policy, { name: 'keep-definitions.drover.dev' });
    const name = 'virtualmachineoperationschedules.drover.dev';
    const annotations = { [CONFIRM_DELETION_ANNOTATION]: 'true' };
    await fleet().kube.patch(CustomResourceDefinitions, { name }, 'merge', { metadata: { annotations } });
    await fleet().kube.delete(CustomResourceDefinitions, { name });
    const isThere = (): Promise<unknown> => fleet().kube.get(CustomResourceDefinitions, { name });
    await until(() => expect(isThere()).rejects.toMatchObject({ status: 404 }));
    const made = [...policies, CustomResourceDefinitions];
    const used = new Set(made.map(({ plural, group }) => right('create', group, plural)));
    const proxy = await chaosProxy(await kubeconfigOf(fleet(), 'drover-setup'), (method, path) => {
      used.add(rightFor(method, path));
      return 'pass';
    });
    const env = { ...process.env, ...fleet().stack.env, KUBECONFIG: proxy.kubeconfig };
    const { stdout } = await run(process.execPath, ['clients/bin.js', 'setup'], { env });
    expect(stdout).toContain('virtualmachinepools.drover.dev');
    expect(stdout).toContain('keep-definitions.drover.dev created');
    expect(stdout).toContain(`${name} created`);
    expect([...used].sort()).toEqual(rightsOf(roleIn('rbac/setup.yaml', 'drover-setup')));
  });

  test('can do nothing beyond that', async () => {
    const kube = await clientOf('drover-setup');
    await expect(kube.list(VirtualMachines)).rejects.toEqual(forbidden);
    await expect(kube.list(Secrets)).rejects.toEqual(forbidden);
    await kube.close();
  });
});

const lookedAt = async (...args: string[]): Promise<Finding[]> => {
  const { stdout } = await droverHere(['doctor', '-o', 'json', ...args], { ...nowhere, ...fleet().stack.env });
  const { items } = JSON.parse(stdout) as { items: Finding[] };
  return items.filter(({ check }) => check === "Workers' rights");
};

describe('`drover doctor`', () => {
  test("finds all rights of the workers' service account, and names one that it lacks", async () => {
    expect(await lookedAt()).toMatchObject([{ outcome: 'OK' }]);
    const name = 'drover-worker';
    const { rules } = roleIn('rbac/worker.yaml', name) as unknown as { rules: { resources: string[] }[] };
    const patch = (some: object[]): Promise<unknown> =>
      fleet().kube.patch(ClusterRoles, { name }, 'merge', { rules: some });
    await patch(rules.filter(({ resources }) => !resources.includes('virtualmachines/restart')));
    // The API server picks a role up a moment later.
    await until(async () =>
      expect(await lookedAt()).toMatchObject([
        {
          outcome: 'Failed',
          message: expect.stringContaining('update virtualmachines.subresources.kubevirt.io/restart'),
        },
      ]),
    );
    await patch(rules);
    await until(async () => expect(await lookedAt()).toMatchObject([{ outcome: 'OK' }]));
    expect(await lookedAt('--worker', 'drover/other')).toMatchObject([{ outcome: 'Unknown' }]);
  });
});

/**
 * Reports whether the API server lets a user with this default Kubernetes role do this to pools. Binds the aggregated
 * roles one by one, as the stack has no controller that aggregates them.
 */
async function may(role: 'view' | 'edit' | 'admin', verb: string, subresource = ''): Promise<boolean> {
  const roles = (await fleet().kube.list(ClusterRoles)).items;
  const takenIn = (name: string): string[] => [
    ...roles.filter(takenInBy(name)).flatMap(({ metadata }) => takenIn(metadata.name)),
    name,
  ];
  const user = `${role}-${Math.random().toString(36).slice(2)}`;
  // The API server picks the bindings up a moment later, in order; the last one is probed.
  for (const name of [...takenIn(role).filter((one) => one !== 'drover-view'), 'drover-view']) {
    const subjects = [{ kind: 'User', name: user, apiGroup: 'rbac.authorization.k8s.io' }];
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name };
    await fleet().kube.create(ClusterRoleBindings, {
      metadata: { name: `${user}-${name}`.replaceAll(':', '-') },
      subjects,
      roleRef,
    });
  }
  await until(async () => expect(await isAllowed(user, 'list')).toBe(true));
  return await isAllowed(user, verb, subresource);
}

const takenInBy =
  (name: string) =>
  ({ metadata }: KubeObject): boolean =>
    metadata.labels?.[`rbac.authorization.k8s.io/aggregate-to-${name}`] === 'true';

async function isAllowed(user: string, verb: string, subresource = ''): Promise<boolean> {
  const resourceAttributes = {
    group: 'drover.dev',
    resource: 'virtualmachinepools',
    subresource,
    namespace: 'default',
    verb,
  };
  const body = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: { user, resourceAttributes },
  };
  const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
  return (await fleet().kube.request<{ status: { allowed: boolean } }>({ method: 'POST', path, body })).status.allowed;
}

describe('a user who may edit a namespace', () => {
  test('may make, scale and delete the pools in it, and a user who may only view it sees them', async () => {
    for (const role of ['edit', 'admin'] as const) {
      for (const verb of ['create', 'patch', 'delete', 'watch'])
        expect([role, verb, await may(role, verb)]).toEqual([role, verb, true]);
      expect(await may(role, 'patch', 'scale')).toBe(true);
      expect(await may(role, 'patch', 'status')).toBe(false);
    }
    expect(await may('view', 'get', 'scale')).toBe(true);
    expect(await may('view', 'create')).toBe(false);
    expect(await may('view', 'patch', 'scale')).toBe(false);
  });
});

const podOf = ({ metadata: { name }, spec }: KubeObject): KubeObject => ({
  metadata: { namespace: NAMESPACE, name },
  spec: (spec as { template: { spec: object } }).template.spec,
});

describe('the pods', () => {
  const templates = ['worker.yaml', 'setup.yaml']
    .flatMap(readManifests)
    .filter(({ kind }) => kind !== 'PodDisruptionBudget');
  test.each(templates.map((template) => [template.metadata.name, podOf(template)] as const))(
    '%s runs under the strictest of the pod security standards',
    async (_name, pod) => {
      await expect(fleet().kube.create(Pods, pod, { dryRun: true })).resolves.toBeDefined();
      const { securityContext: _, ...spec } = pod['spec'] as { securityContext: object };
      await expect(fleet().kube.create(Pods, { ...pod, spec }, { dryRun: true })).rejects.toThrow(
        'violates PodSecurity "restricted:latest"',
      );
    },
  );
});

test.skipIf(!hasKubectl)('kubectl applies the folder as it is, again and again, and warns of nothing', async () => {
  const args = [
    '--kubeconfig',
    fleet().stack.kubeconfig,
    'apply',
    '--server-side',
    '--force-conflicts',
    '-k',
    'deploy',
  ];
  for (let turn = 0; turn < 2; turn++) {
    const { stdout, stderr } = await run('kubectl', args);
    expect(stderr).toBe('');
    expect(stdout).toContain('deployment.apps/drover-worker serverside-applied');
    expect(stdout).toContain(
      'customresourcedefinition.apiextensions.k8s.io/virtualmachinepools.drover.dev serverside-applied',
    );
  }
});
