import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { parseAllDocuments } from 'yaml';
import type { KubeObject } from '../../../api/objects.ts';
import { Namespaces, type Resource } from '../../../api/resources.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { loadKubeConfig } from '../../../kubernetes/config.ts';
import type { GivenCluster } from './given.ts';
import { ClusterRoleBindings, ClusterRoles, labelsOf, RoleBindings } from './ownership.ts';

interface Rule {
  apiGroups: string[];
  resources: string[];
  verbs: string[];
}

const ServiceAccounts: Resource = {
  group: '',
  version: 'v1',
  plural: 'serviceaccounts',
  kind: 'ServiceAccount',
  namespaced: true,
};
const ACCOUNT = 'drover-worker';
const READS = new Set(['get', 'list', 'watch']);
/** Access reviews change nothing. */
const isReview = ({ apiGroups }: Rule): boolean => apiGroups.includes('authorization.k8s.io');

const nameOf = ({ run }: GivenCluster, what: 'reads' | 'writes'): string => `drover-test-${run}-${what}`;
const roleRef = (given: GivenCluster, what: 'reads' | 'writes') => ({
  apiGroup: 'rbac.authorization.k8s.io',
  kind: 'ClusterRole',
  name: nameOf(given, what),
});
const subjects = ({ home }: GivenCluster) => [{ kind: 'ServiceAccount', name: ACCOUNT, namespace: home }];

function declaredRules(file: string): Rule[] {
  const text = readFileSync(resolve(import.meta.dirname, '../../../deploy', file), 'utf8');
  const objects = parseAllDocuments(text).map((document) => document.toJS() as { kind: string; rules?: Rule[] });
  return objects.find(({ kind }) => kind === 'ClusterRole')!.rules!;
}

/**
 * Creates the worker's service account with the permissions that `deploy/rbac` declares, split in two: it reads
 * everywhere, as the worker does, and writes and looks at Secrets only in namespaces opened for it, but for what is
 * cluster-wide by its kind: operations. So no test can change anyone else's objects.
 */
export async function createWorkerAccount(kube: KubeClient, given: GivenCluster): Promise<void> {
  const labels = labelsOf(given.run);
  const rules = declaredRules('rbac/worker.yaml');
  // Nobody else's Secrets are read, and no Jobs run: only in namespaces opened for it.
  const inItsOwn = [
    ...rules,
    ...['references', 'check-jobs'].flatMap((one) => declaredRules(`components/${one}/role.yaml`)),
  ];
  const reading = rules.map((rule) => ({
    ...rule,
    verbs: isReview(rule) ? rule.verbs : rule.verbs.filter((verb) => READS.has(verb)),
  }));
  const wide = rules.map((rule) => ({ ...rule, resources: rule.resources.filter((one) => one.startsWith('cluster')) }));
  await kube.create(Namespaces, { metadata: { name: given.home, labels } });
  await kube.create(ServiceAccounts, { metadata: { name: ACCOUNT, namespace: given.home } });
  for (const [what, its] of [
    [
      'reads',
      [...reading.filter(({ verbs }) => verbs.length > 0), ...wide.filter(({ resources }) => resources.length > 0)],
    ],
    ['writes', inItsOwn],
  ] as const) {
    await kube.create<KubeObject>(ClusterRoles, { metadata: { name: nameOf(given, what), labels }, rules: its });
  }
  await kube.create<KubeObject>(ClusterRoleBindings, {
    metadata: { name: nameOf(given, 'reads'), labels },
    roleRef: roleRef(given, 'reads'),
    subjects: subjects(given),
  });
}

/** Lets the worker write in this namespace. */
export async function openNamespace(kube: KubeClient, given: GivenCluster, namespace: string): Promise<void> {
  await kube.create<KubeObject>(RoleBindings, {
    metadata: { name: 'drover-test', namespace },
    roleRef: roleRef(given, 'writes'),
    subjects: subjects(given),
  });
}

/** Writes a kubeconfig for the worker's service account into the folder `state`, and returns its path. */
export async function workerKubeconfig(
  kube: KubeClient,
  given: GivenCluster,
  { state, kubeconfig }: { state: string; kubeconfig: string },
): Promise<string> {
  const path = `/api/v1/namespaces/${given.home}/serviceaccounts/${ACCOUNT}/token`;
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 4 * 3600 } };
  const { status } = await kube.request<{ status: { token: string } }>({ method: 'POST', path, body });
  const config = new KubeConfig();
  const cluster = loadKubeConfig({ kubeconfig }).getCurrentCluster()!;
  config.loadFromClusterAndUser(cluster, { name: ACCOUNT, token: status.token });
  const file = join(state, 'worker.kubeconfig');
  writeFileSync(file, config.exportConfig(), { mode: 0o600 });
  return file;
}
