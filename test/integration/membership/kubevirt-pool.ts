import { expect, onTestFinished } from 'vitest';
import { KUBEVIRT_POOL_FINALIZER, KUBEVIRT_REVISION_LABEL } from '../../../api/labels-and-annotations.ts';
import type { Condition, KubeObject, Stored } from '../../../api/objects.ts';
import type { VmTemplate } from '../../../api/pool/pool.ts';
import {
  ControllerRevisions,
  KubeVirtPools,
  VirtualMachineInstances,
  VirtualMachines,
} from '../../../api/resources.ts';
import { installCrds } from '../../../dev/crds/crds.ts';
import { ignoreNotFound, ignoreStale } from '../../../kubernetes/errors.ts';
import { ListWatch } from '../../../kubernetes/list-watch.ts';
import { givenCluster } from '../../cluster/given/given.ts';
import { until, type TestFleet } from '../fleet.ts';
import { templateOf } from '../rollout/rollouts.ts';

type TheirPool = KubeObject & {
  spec: { replicas: number; paused?: boolean; virtualMachineTemplate: VmTemplate; [field: string]: unknown };
  status?: { replicas?: number; conditions?: Condition[] };
};

/** Whether virt-controller looks after the KubeVirt pools: the simulator does not. */
export const hasPoolController = (): boolean => givenCluster() !== undefined;

/** A template with the label that the pool's selector asks for. */
export const theirTemplate = (shape: Parameters<typeof templateOf>[0] = {}): VmTemplate =>
  templateOf({ ...shape, vmMetadata: { labels: { app: 'web' } } });

const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
const crd: KubeObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${KubeVirtPools.plural}.${KubeVirtPools.group}` },
  spec: {
    group: KubeVirtPools.group,
    scope: 'Namespaced',
    names: {
      plural: KubeVirtPools.plural,
      singular: 'virtualmachinepool',
      kind: KubeVirtPools.kind,
      listKind: `${KubeVirtPools.kind}List`,
    },
    versions: [
      {
        name: KubeVirtPools.version,
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { ...anything, properties: { spec: anything, status: anything } } },
        subresources: { status: {} },
      },
    ],
  },
};

/** The pool `web` of KubeVirt in a namespace of its own, whose VMs run. */
export class KubeVirtPoolOfTest {
  readonly fleet: TestFleet;
  readonly namespace: string;

  private constructor(fleet: TestFleet, namespace: string) {
    this.fleet = fleet;
    this.namespace = namespace;
  }

  /**
   * Creates the pool; if there is no pool controller, with the VMs that it would have made, and the word that it
   * pauses. `numbers`: of its VMs, as far as the test may choose.
   */
  static async running(
    fleet: TestFleet,
    { numbers = [0, 1, 2], spec = {} }: { numbers?: number[]; spec?: object } = {},
  ): Promise<KubeVirtPoolOfTest> {
    const pool = new KubeVirtPoolOfTest(fleet, await fleet.namespace());
    if (!hasPoolController()) await installCrds(fleet.kube, [crd]);
    const made = await fleet.kube.create<TheirPool>(KubeVirtPools, {
      metadata: { namespace: pool.namespace, name: 'web' },
      spec: {
        replicas: numbers.length,
        selector: { matchLabels: { app: 'web' } },
        virtualMachineTemplate: theirTemplate(),
        ...spec,
      },
    });
    if (!hasPoolController()) await pool.#playController(made, numbers);
    await until(async () => {
      const { items } = await fleet.kube.list<KubeObject & { status?: { conditions?: Condition[] } }>(
        VirtualMachineInstances,
        { namespace: pool.namespace },
      );
      const ready = items.filter(({ status }) =>
        status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True'),
      );
      expect(ready).toHaveLength(numbers.length);
    });
    return pool;
  }

  async #playController({ metadata, spec }: Stored<TheirPool>, numbers: readonly number[]): Promise<void> {
    const { kube } = this.fleet;
    const { namespace, name, uid } = metadata;
    const { metadata: own, spec: vm } = structuredClone(spec.virtualMachineTemplate);
    const labels = { ...own?.labels, [KUBEVIRT_REVISION_LABEL]: 'web-1' };
    const template = vm.template as { metadata?: { labels?: object } };
    template.metadata = {
      ...template.metadata,
      labels: { ...template.metadata?.labels, [KUBEVIRT_REVISION_LABEL]: 'web-1' },
    };
    const owner = { apiVersion: 'pool.kubevirt.io/v1beta1', kind: 'VirtualMachinePool', name, uid };
    for (const number of numbers)
      await kube.create(VirtualMachines, {
        metadata: {
          namespace: namespace!,
          name: `${name}-${number}`,
          labels,
          finalizers: [KUBEVIRT_POOL_FINALIZER],
          ownerReferences: [{ ...owner, controller: true, blockOwnerDeletion: true }],
        },
        spec: JSON.parse(JSON.stringify(vm).replaceAll('"name":"disk"', `"name":"disk-${number}"`)) as object,
      });
    const owned = { namespace: namespace!, name: 'web-1', ownerReferences: [{ ...owner, controller: true }] };
    await kube.create<KubeObject>(ControllerRevisions, { metadata: owned, revision: 1, data: spec });
    await this.#confirmPauses();
  }

  /** The status says whether the pool is paused. */
  async #confirmPauses(): Promise<void> {
    const { kube } = this.fleet;
    const writes: Promise<unknown>[] = [];
    const watch = new ListWatch<Stored<TheirPool>, Stored<TheirPool>>({
      client: kube,
      resource: KubeVirtPools,
      namespace: this.namespace,
      view: (pool) => pool,
      onChange: (_key, _before, pool) => {
        if (pool === undefined) return;
        const conditions = pool.spec.paused === true ? [{ type: 'ReplicaPaused', status: 'True' }] : [];
        if (pool.status?.conditions?.length === conditions.length) return;
        const { resourceVersion } = pool.metadata;
        const patch = { metadata: { resourceVersion }, status: { conditions } };
        writes.push(ignoreStale(kube.patch(KubeVirtPools, pool.metadata, 'merge', patch, { subresource: 'status' })));
      },
    });
    await watch.start().ready();
    onTestFinished(async () => {
      await watch.stop();
      await Promise.all(writes);
    });
  }

  get(): Promise<Stored<TheirPool> | undefined> {
    return ignoreNotFound(this.fleet.kube.get<TheirPool>(KubeVirtPools, { namespace: this.namespace, name: 'web' }));
  }

  async patch(spec: object): Promise<void> {
    await this.fleet.kube.patch(KubeVirtPools, { namespace: this.namespace, name: 'web' }, 'merge', { spec });
  }
}
