import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { WorkflowNotFoundError } from '@temporalio/client';
import { expect } from 'vitest';
import type { Stored } from '../../../api/objects.ts';
import type { OperationSpec } from '../../../api/operations/operation.ts';
import { ServiceAccounts, type Resource } from '../../../api/resources.ts';
import { operationResource } from '../../../decisions/operations/ref.ts';
import type { StoredOperation } from '../../../decisions/views/stored-operation.ts';
import { KubeClient } from '../../../kubernetes/client.ts';
import { loadKubeConfig } from '../../../kubernetes/config.ts';
import { ignoreNotFound } from '../../../kubernetes/errors.ts';
import { operationIdOf, type OperationKey } from '../../../workflows/lib/messages.ts';
import { until, type TestFleet } from '../fleet.ts';
import { untilSeen } from '../until-seen.ts';

/** Resolves when an operation that is made then is younger than what there is now: times have whole seconds. */
export async function aSecondLater(): Promise<void> {
  const second = Math.floor(Date.now() / 1_000);
  await until(() => Promise.resolve(expect(Math.floor(Date.now() / 1_000)).toBeGreaterThan(second)));
}

/** An operation in a cluster, as a user sees it with kubectl. */
export class TestOperation {
  readonly key: OperationKey;
  readonly #kube: KubeClient;

  private constructor(kube: KubeClient, { metadata: { namespace, name, uid } }: Stored) {
    this.#kube = kube;
    this.key = { cluster: 'default', ...(namespace === undefined ? {} : { namespace }), name, uid };
  }

  /** Makes one of the namespace, or without that a cluster-wide one. */
  static async make(
    kube: KubeClient,
    namespace: string | undefined,
    spec: Partial<OperationSpec>,
    metadata: object = {},
  ): Promise<TestOperation> {
    const operation = {
      metadata: { ...(namespace === undefined ? {} : { namespace }), name: 'op', ...metadata },
      spec: { action: 'Restart', vms: { selector: {} }, atOnce: 1, ...spec },
    };
    const resource = operationResource({ namespace });
    return new TestOperation(kube, await kube.create(resource, operation, { strict: true }));
  }

  get workflowId(): string {
    return operationIdOf(this.key);
  }

  async read(): Promise<StoredOperation | undefined> {
    const found = await ignoreNotFound(this.#kube.get(operationResource(this.key), this.key));
    return found?.metadata.uid === this.key.uid ? (found as unknown as StoredOperation) : undefined;
  }

  async set(spec: Partial<OperationSpec>): Promise<void> {
    await this.#kube.patch(operationResource(this.key), this.key, 'merge', { spec });
  }

  async delete(): Promise<void> {
    await this.#kube.delete(operationResource(this.key), this.key);
  }

  /** Resolves when its status is like this, or has been so since the call. */
  until(wanted: object): Promise<void> {
    return this.#seen(({ status }) => expect(status).toMatchObject(wanted));
  }

  /** Resolves when it stands like this, by the reason of its condition Progressing, or has since the call. */
  stands(reason: string): Promise<void> {
    return this.#seen(({ status: { conditions = [] } = {} }) =>
      expect(conditions.find(({ type }) => type === 'Progressing')).toMatchObject({ reason }),
    );
  }

  async #seen(assertions: (operation: StoredOperation) => void): Promise<void> {
    await untilSeen<StoredOperation>(this.#kube, operationResource(this.key), this.key, (operation) => {
      expect(operation.metadata.uid).toBe(this.key.uid);
      assertions(operation);
    });
  }
}

const rbac = (plural: string, kind: string, namespaced: boolean): Resource => ({
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  plural,
  kind,
  namespaced,
});
export const ROLE = { role: rbac('roles', 'Role', true), binding: rbac('rolebindings', 'RoleBinding', true) };
const CLUSTER_ROLE = {
  role: rbac('clusterroles', 'ClusterRole', false),
  binding: rbac('clusterrolebindings', 'ClusterRoleBinding', false),
};

/** Has Temporal lose what it knows of the operation; `meanwhile`: what happens while nobody knows. */
export async function lose(
  { temporal }: TestFleet,
  operation: TestOperation,
  meanwhile: () => Promise<void> = async () => {},
): Promise<void> {
  const { workflowService } = temporal.client;
  const { namespace } = temporal;
  const { workflowId } = operation;
  // All VMs may have been changed by now.
  await temporal.client.workflow
    .getHandle(workflowId)
    .terminate()
    .catch((error: unknown) => {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    });
  await meanwhile();
  // A worker may have begun it anew meanwhile.
  await workflowService.deleteWorkflowExecution({ namespace, workflowExecution: { workflowId } });
}

export interface Right {
  apiGroups: string[];
  resources: string[];
  verbs: string[];
  resourceNames?: string[];
}

/** A user who is a ServiceAccount: its name, a client of its own, and what gives it other rights in its namespace. */
interface User {
  username: string;
  /** Path of a kubeconfig with its token. */
  kubeconfig: string;
  kube: KubeClient;
  setRules: (rules: Right[]) => Promise<void>;
}

/** A user with these rights in the namespace, and those in the whole cluster. */
export async function userWith(
  fleet: Pick<TestFleet, 'kube' | 'stack'>,
  namespace: string,
  name: string,
  rules: Right[],
  clusterRules: Right[] = [],
): Promise<User> {
  const { kube } = fleet;
  await kube.create(ServiceAccounts, { metadata: { namespace, name } });
  const subjects = [{ kind: 'ServiceAccount', name, namespace }];
  for (const [{ role, binding }, metadata, given] of [
    [ROLE, { namespace, name }, rules],
    [CLUSTER_ROLE, { name: `${name}-${namespace}` }, clusterRules],
  ] as const) {
    // A given cluster is not changed without need.
    if (given.length === 0) continue;
    await kube.create(role, { metadata, rules: given });
    const roleRef = { apiGroup: role.group, kind: role.kind, name: metadata.name };
    await kube.create(binding, { metadata, roleRef, subjects });
  }
  const kubeconfig = await signIn(fleet, namespace, name);
  return {
    username: `system:serviceaccount:${namespace}:${name}`,
    kubeconfig,
    kube: new KubeClient(loadKubeConfig({ kubeconfig })),
    setRules: async (rules) => void (await kube.patch(ROLE.role, { namespace, name }, 'merge', { rules })),
  };
}

/** Writes a kubeconfig with a new token of the user, and returns its path, which is always the same. */
export async function signIn(
  { kube, stack }: Pick<TestFleet, 'kube' | 'stack'>,
  namespace: string,
  name: string,
): Promise<string> {
  const { status } = await kube.request<{ status: { token: string } }>({
    method: 'POST',
    path: `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`,
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 3600 } },
  });
  const config = new KubeConfig();
  const cluster = loadKubeConfig({ kubeconfig: stack.kubeconfig }).getCurrentCluster()!;
  config.loadFromClusterAndUser(cluster, { name, token: status.token });
  const file = join(stack.state, `${namespace}-${name}.kubeconfig`);
  writeFileSync(file, config.exportConfig());
  return file;
}
