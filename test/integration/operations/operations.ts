import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { expect } from 'vitest';
import type { Stored } from '../../../api/objects.ts';
import type { OperationSpec } from '../../../api/operations/operation.ts';
import { ServiceAccounts, VirtualMachineOperations, type Resource } from '../../../api/resources.ts';
import type { StoredOperation } from '../../../decisions/views/stored-operation.ts';
import { KubeClient } from '../../../kubernetes/client.ts';
import { loadKubeConfig } from '../../../kubernetes/config.ts';
import { ignoreNotFound } from '../../../kubernetes/errors.ts';
import { operationIdOf, operationRunIdOf, type OperationKey } from '../../../workflows/lib/messages.ts';
import { until, type TestFleet } from '../fleet.ts';

/** Resolves when an operation that is made then is younger than what there is now: times have whole seconds. */
export async function aSecondLater(): Promise<void> {
  const second = Math.floor(Date.now() / 1_000);
  await until(() => Promise.resolve(expect(Math.floor(Date.now() / 1_000)).toBeGreaterThan(second)));
}

/** An operation in a cluster, as a person sees it with kubectl. */
export class TestOperation {
  readonly key: OperationKey;
  readonly #kube: KubeClient;

  private constructor(kube: KubeClient, { metadata: { namespace, name, uid } }: Stored) {
    this.#kube = kube;
    this.key = { cluster: 'default', namespace: namespace!, name, uid };
  }

  static async make(
    kube: KubeClient,
    namespace: string,
    spec: Partial<OperationSpec>,
    metadata: object = {},
  ): Promise<TestOperation> {
    const operation = {
      metadata: { namespace, name: 'op', ...metadata },
      spec: { action: 'Restart', vms: { selector: {} }, atOnce: 1, ...spec },
    };
    return new TestOperation(kube, await kube.create(VirtualMachineOperations, operation, { strict: true }));
  }

  get workflowId(): string {
    return operationIdOf(this.key);
  }

  get runId(): string {
    return operationRunIdOf(this.key);
  }

  async read(): Promise<StoredOperation | undefined> {
    const found = await ignoreNotFound(this.#kube.get(VirtualMachineOperations, this.key));
    return found?.metadata.uid === this.key.uid ? (found as unknown as StoredOperation) : undefined;
  }

  async set(spec: Partial<OperationSpec>): Promise<void> {
    await this.#kube.patch(VirtualMachineOperations, this.key, 'merge', { spec });
  }

  async delete(): Promise<void> {
    await this.#kube.delete(VirtualMachineOperations, this.key);
  }

  /** Resolves when its status is like this. */
  async until(wanted: object): Promise<void> {
    await until(async () => expect((await this.read())?.status).toMatchObject(wanted));
  }

  /** Resolves when it stands like this, by the reason of its condition Progressing. */
  async stands(reason: string): Promise<void> {
    await until(async () => {
      const { conditions = [] } = (await this.read())?.status ?? {};
      expect(conditions.find(({ type }) => type === 'Progressing')).toMatchObject({ reason });
    });
  }
}

const namespaced = (plural: string, kind: string): Resource => ({
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  plural,
  kind,
  namespaced: true,
});
const Roles = namespaced('roles', 'Role');
const RoleBindings = namespaced('rolebindings', 'RoleBinding');

interface Right {
  apiGroups: string[];
  resources: string[];
  verbs: string[];
  resourceNames?: string[];
}

/** A user of the namespace with these rights there: its name, and a client of its own. */
export async function userWith(
  fleet: TestFleet,
  namespace: string,
  name: string,
  rules: Right[],
): Promise<{ username: string; kube: KubeClient }> {
  const { kube } = fleet;
  await kube.create(ServiceAccounts, { metadata: { namespace, name } });
  await kube.create(Roles, { metadata: { namespace, name }, rules });
  await kube.create(RoleBindings, {
    metadata: { namespace, name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
    subjects: [{ kind: 'ServiceAccount', name, namespace }],
  });
  const { status } = await kube.request<{ status: { token: string } }>({
    method: 'POST',
    path: `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`,
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 3600 } },
  });
  const config = new KubeConfig();
  const cluster = loadKubeConfig({ kubeconfig: fleet.stack.kubeconfig }).getCurrentCluster()!;
  config.loadFromClusterAndUser(cluster, { name, token: status.token });
  const file = join(fleet.stack.state, `${namespace}-${name}.kubeconfig`);
  writeFileSync(file, config.exportConfig());
  return {
    username: `system:serviceaccount:${namespace}:${name}`,
    kube: new KubeClient(loadKubeConfig({ kubeconfig: file })),
  };
}
