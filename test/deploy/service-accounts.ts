import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { Namespaces, ServiceAccounts, type Resource } from '../../api/resources.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { loadKubeConfig } from '../../kubernetes/config.ts';
import type { TestFleet } from '../integration/fleet.ts';
import { readManifests } from './rights.ts';

/** The namespace that the manifests put drover's service accounts in. */
export const NAMESPACE = 'drover';

const rbac = (plural: string, kind: string): Resource => ({
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  plural,
  kind,
  namespaced: false,
});
export const ClusterRoles = rbac('clusterroles', 'ClusterRole');
export const ClusterRoleBindings = rbac('clusterrolebindings', 'ClusterRoleBinding');
const KINDS: Record<string, Resource> = {
  Namespace: Namespaces,
  ServiceAccount: ServiceAccounts,
  ClusterRole: ClusterRoles,
  ClusterRoleBinding: ClusterRoleBindings,
};

/** Creates drover's service accounts in the cluster, with their roles, from the manifests. */
export async function createServiceAccounts(kube: KubeClient): Promise<void> {
  for (const object of ['namespace.yaml', 'rbac/worker.yaml', 'rbac/setup.yaml', 'rbac/users.yaml'].flatMap(
    readManifests,
  )) {
    const resource = KINDS[object.kind!]!;
    if (resource.namespaced) object.metadata.namespace = NAMESPACE;
    await kube.create(resource, object);
  }
}

export async function tokenOf({ kube }: TestFleet, account: string): Promise<string> {
  const path = `/api/v1/namespaces/${NAMESPACE}/serviceaccounts/${account}/token`;
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 3600 } };
  const { status } = await kube.request<{ status: { token: string } }>({ method: 'POST', path, body });
  return status.token;
}

/** Writes a kubeconfig of the stack's cluster for one of drover's service accounts, and returns its path. */
export async function kubeconfigOf(fleet: TestFleet, account: string): Promise<string> {
  const cluster = loadKubeConfig({ kubeconfig: fleet.stack.kubeconfig }).getCurrentCluster()!;
  const config = new KubeConfig();
  config.loadFromClusterAndUser(cluster, { name: account, token: await tokenOf(fleet, account) });
  const file = join(fleet.stack.state, `${account}.kubeconfig`);
  writeFileSync(file, config.exportConfig());
  return file;
}
