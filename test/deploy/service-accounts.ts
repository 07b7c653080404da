import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import type { KubeObject } from '../../api/objects.ts';
import { Namespaces, ServiceAccounts, type Resource } from '../../api/resources.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { loadKubeConfig } from '../../kubernetes/config.ts';
import { ignoreAlreadyExists } from '../../kubernetes/errors.ts';
import type { TestFleet } from '../integration/fleet.ts';
import { readManifests } from './rights.ts';

/** The namespace that the manifests put drover's service accounts in. */
export const NAMESPACE = 'drover';

const rbac = (plural: string, kind: string, namespaced = false): Resource => ({
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  plural,
  kind,
  namespaced,
});
export const ClusterRoles = rbac('clusterroles', 'ClusterRole');
export const ClusterRoleBindings = rbac('clusterrolebindings', 'ClusterRoleBinding');
export const KINDS: Record<string, Resource> = {
  Namespace: Namespaces,
  ServiceAccount: ServiceAccounts,
  ClusterRole: ClusterRoles,
  ClusterRoleBinding: ClusterRoleBindings,
  Role: rbac('roles', 'Role', true),
  RoleBinding: rbac('rolebindings', 'RoleBinding', true),
};

/** Creates the service accounts of workers that serve this namespace alone, with their Roles, from the manifests. */
export async function createNamespacedAccounts(kube: KubeClient, namespace: string): Promise<void> {
  const accounts = ['rbac/worker.yaml', 'rbac/setup.yaml'].flatMap(readManifests);
  for (const account of accounts.filter(({ kind }) => kind === 'ServiceAccount'))
    await kube.create(ServiceAccounts, { ...account, metadata: { ...account.metadata, namespace } });
  await createRoles(kube, namespace, namespace);
}

/** Gives drover's service accounts of one namespace their Roles in a namespace, from the manifests. */
export async function createRoles(kube: KubeClient, namespace: string, accountsIn: string): Promise<void> {
  for (const object of readManifests('components/namespaced/role.yaml')) {
    const { subjects } = object as { subjects?: { namespace?: string }[] };
    for (const subject of subjects ?? []) subject.namespace = accountsIn;
    object.metadata.namespace = namespace;
    await kube.create(KINDS[object.kind!]!, object);
  }
}

/** Creates drover's service accounts in the cluster, with their roles and those of components, from the manifests. */
export async function createServiceAccounts(kube: KubeClient, components: readonly string[] = []): Promise<void> {
  const roles = components.map((component) => `components/${component}/role.yaml`);
  const files = ['namespace.yaml', 'rbac/worker.yaml', 'rbac/setup.yaml', 'rbac/users.yaml', ...roles];
  await createAll(kube, files.flatMap(readManifests));
}

async function createAll(kube: KubeClient, objects: KubeObject[]): Promise<void> {
  for (const object of objects) {
    const resource = KINDS[object.kind!]!;
    if (resource.namespaced) object.metadata.namespace = NAMESPACE;
    const { subjects = [] } = object as { subjects?: { namespace?: string }[] };
    for (const subject of subjects) subject.namespace = NAMESPACE;
    // Files that share a stack, and tests of a file, ask for the same.
    await ignoreAlreadyExists(kube.create(resource, object));
  }
}

/**
 * Creates a service account of the dashboard in a namespace of its own, with all that the manifests let it do, and
 * returns a kubeconfig for it. The roles end with the namespace, so that a given cluster may have them.
 */
export async function dashboardKubeconfig(fleet: TestFleet): Promise<string> {
  const namespace = await fleet.namespace();
  const account = 'drover-dashboard';
  const name = `${account}-${namespace}`;
  for (const object of readManifests('components/dashboard/role.yaml')) {
    const resource = KINDS[object.kind!]!;
    const { subjects = [], roleRef } = object as { subjects?: { namespace?: string }[]; roleRef?: { name: string } };
    object.metadata = resource.namespaced ? { name: account, namespace } : { name };
    for (const subject of subjects) subject.namespace = namespace;
    if (roleRef !== undefined) roleRef.name = name;
    await fleet.kube.create(resource, object);
  }
  return kubeconfigOf(fleet, account, namespace);
}

export async function tokenOf({ kube }: TestFleet, account: string, namespace = NAMESPACE): Promise<string> {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`;
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 3600 } };
  const { status } = await kube.request<{ status: { token: string } }>({ method: 'POST', path, body });
  return status.token;
}

/** Writes a kubeconfig of the stack's cluster for one of drover's service accounts, and returns its path. */
export async function kubeconfigOf(fleet: TestFleet, account: string, namespace = NAMESPACE): Promise<string> {
  const cluster = loadKubeConfig({ kubeconfig: fleet.stack.kubeconfig }).getCurrentCluster()!;
  const config = new KubeConfig();
  config.loadFromClusterAndUser(cluster, { name: account, token: await tokenOf(fleet, account, namespace) });
  const file = join(fleet.stack.state, `${namespace}-${account}.kubeconfig`);
  writeFileSync(file, config.exportConfig());
  return file;
}
