import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished } from 'vitest';
import { POOL_LABEL } from '../../../api/labels-and-annotations.ts';
import type { KubeObject, Stored } from '../../../api/objects.ts';
import type { PoolSpec } from '../../../api/pool/pool.ts';
import {
  Events,
  Nodes,
  Pods,
  ServiceAccounts,
  VirtualMachineInstanceMigrations,
  VirtualMachineInstances,
} from '../../../api/resources.ts';
import { ignoreNotFound, isNotFound, KubeError } from '../../../kubernetes/errors.ts';
import type { Migration, VirtualMachineInstance } from '../../../simulator/objects/kubevirt.ts';
import { givenCluster } from '../../cluster/given/given.ts';
import { lackOf, needs } from '../../cluster/given/needs.ts';
import { skip } from '../../cluster/given/skip.ts';
import { namesUpTo, runningTemplate, until, type TestFleet } from '../fleet.ts';

const cordoned = (on: boolean): object => ({ spec: { unschedulable: on ? true : null } });
const drained = (on: boolean): object => ({
  metadata: { annotations: { 'sim.drover.dev/drain': on ? 'true' : null } },
  ...cordoned(on),
});
/** How soon a drain asks again for the pods that are left. */
const AGAIN_MS = 1_000;

type Event = Stored<KubeObject & { reason: string; regarding: { name: string } }>;
type Vmi = Stored<VirtualMachineInstance & KubeObject>;

/** Pools in a namespace of their own, and nodes that tests drain. */
export class TestDrain {
  readonly namespace: string;
  readonly #fleet: TestFleet;

  private constructor(fleet: TestFleet, namespace: string) {
    this.#fleet = fleet;
    this.namespace = namespace;
  }

  static async in(fleet: TestFleet, namespace?: string): Promise<TestDrain> {
    return new TestDrain(fleet, namespace ?? (await fleet.namespace()));
  }

  /** Creates a pool whose VMIs have these annotations; resolves when they are ready. */
  async pool(name: string, spec: Partial<PoolSpec>, annotations: Record<string, string> = {}): Promise<void> {
    const template = structuredClone(runningTemplate);
    const vmi = template.spec.template;
    Object.assign((vmi as { metadata: { annotations: object } }).metadata.annotations, annotations);
    const { replicas = 1 } = spec;
    await this.#fleet.createPool(this.namespace, name, { drain: {}, ...spec, template, replicas });
    await until(async () => {
      const { status } = (await this.#fleet.pool(this.namespace, name))!;
      expect(status).toMatchObject({ readyReplicas: replicas, updatedReplicas: replicas });
    });
  }

  /** Cordons the node and evicts what runs there, as `kubectl drain` does; undone when the test has finished. */
  async drain(node: string): Promise<void> {
    needs('live migration');
    const { kube } = this.#fleet;
    if (givenCluster() !== undefined) {
      await this.cordon(node);
      return this.#evictFrom(node);
    }
    onTestFinished(async () => void (await kube.patch(Nodes, { name: node }, 'merge', drained(false))));
    await kube.patch(Nodes, { name: node }, 'merge', drained(true));
  }

  async vmis(pool: string): Promise<Vmi[]> {
    const { items } = await this.#fleet.kube.list<Vmi>(VirtualMachineInstances, { namespace: this.namespace });
    return items.filter(({ metadata }) => metadata.name.startsWith(pool));
  }

  /** The UIDs of all VMIs, by name. */
  async uids(): Promise<Record<string, string>> {
    return Object.fromEntries((await this.vmis('')).map(({ metadata }) => [metadata.name, metadata.uid]));
  }

  /** Cordons the node; undone when the test has finished. */
  async cordon(node: string): Promise<void> {
    onTestFinished(() => this.uncordon(node));
    await this.#fleet.kube.patch(Nodes, { name: node }, 'merge', cordoned(true));
  }

  async uncordon(node: string): Promise<void> {
    await this.#fleet.kube.patch(Nodes, { name: node }, 'merge', cordoned(false));
  }

  /** Asks to evict the pods on the node, and those that are left again and again, until the test has finished. */
  async #evictFrom(node: string): Promise<void> {
    let isOver = false;
    let rest: Promise<void> = Promise.resolve();
    onTestFinished(() => {
      isOver = true;
      return rest;
    });
    const evict = async (): Promise<void> => {
      for (const pod of await this.#podsOn(node)) await ignoreNotFound(this.evictionOf(pod));
    };
    const goOn = async (): Promise<void> => {
      while (!isOver) {
        await sleep(AGAIN_MS);
        await evict();
      }
    };
    await evict();
    rest = goOn();
  }

  /** The names of the pods that run on the node. */
  async #podsOn(node: string, labelSelector?: string): Promise<string[]> {
    const fieldSelector = `spec.nodeName=${node},status.phase=Running`;
    const options = { namespace: this.namespace, fieldSelector, ...(labelSelector && { labelSelector }) };
    return (await this.#fleet.kube.list(Pods, options)).items.map(({ metadata }) => metadata.name);
  }

  /** Cordons the node that the VMI is on and evicts the pod from it, as `kubectl drain` does with all pods. */
  async evict(vm: string): Promise<void> {
    // A VM that no other node takes is not restarted for a drain.
    needs('live migration');
    await this.cordon(await this.nodeOf(vm));
    if (givenCluster() !== undefined) return this.#evictPod(vm);
    await this.annotate(vm, { 'sim.drover.dev/evict-from': await this.nodeOf(vm) });
  }

  /** KubeVirt refuses, and notes on the VMI that it is to leave its node. */
  async #evictPod(vm: string): Promise<void> {
    const [pod] = await this.#podsOn(await this.nodeOf(vm), `vm.kubevirt.io/name=${vm}`);
    expect(await this.evictionOf(pod!)).toMatch('Eviction triggered evacuation of VMI');
  }

  /** Asks to evict a pod; resolves to what the API server says to that. */
  async evictionOf(pod: string): Promise<string> {
    const body = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: pod, namespace: this.namespace } };
    const path = `/api/v1/namespaces/${this.namespace}/pods/${pod}/eviction`;
    return this.#fleet.kube.request({ method: 'POST', path, body }).then(
      () => 'evicted',
      (error: unknown) => {
        if (error instanceof KubeError && error.status === 429) return error.message;
        throw error;
      },
    );
  }

  /** Creates pods such as those of the pool's VMs, which are ready or not: the simulator makes none. */
  async pods(pool: string, ready: Record<string, boolean>, nodeName?: string): Promise<void> {
    const { kube } = this.#fleet;
    if (givenCluster()?.hasStandIn === false) skip('it makes pods that no kubelet can run');
    await kube.create(ServiceAccounts, { metadata: { namespace: this.namespace, name: 'default' } });
    for (const [name, isReady] of Object.entries(ready)) {
      const metadata = { namespace: this.namespace, name, labels: { [POOL_LABEL]: pool } };
      const spec = {
        containers: [{ name: 'compute', image: 'launcher' }],
        automountServiceAccountToken: false,
        nodeName,
      };
      await kube.create(Pods, { metadata, spec });
      const conditions = [{ type: 'Ready', status: isReady ? 'True' : 'False' }];
      const status = { phase: 'Running', conditions };
      await kube.patch(Pods, metadata, 'merge', { status }, { subresource: 'status' });
    }
  }

  /** Takes that back, as `virtctl evacuate-cancel` does. */
  async cancel(vm: string): Promise<void> {
    if (givenCluster() === undefined) await this.annotate(vm, { 'sim.drover.dev/evict-from': null });
    const path = `/apis/subresources.kubevirt.io/v1/namespaces/${this.namespace}/virtualmachineinstances/${vm}/evacuate/cancel`;
    const body = { evacuationNodeName: await this.nodeOf(vm) };
    await this.#fleet.kube.request({ method: 'PUT', path, body }).catch((error: unknown) => {
      if (givenCluster() !== undefined && isNotFound(error)) skip(lackOf('evictions that can be cancelled'));
      throw error;
    });
  }

  /** The names of three nodes that take VMs. */
  async nodes(): Promise<[first: string, second: string, third: string]> {
    needs('three nodes that take VMs');
    const { items } = await this.#fleet.kube.list(Nodes, { labelSelector: 'kubevirt.io/schedulable=true' });
    const names = items.map(({ metadata }) => metadata.name).toSorted();
    return names as [string, string, string];
  }

  async nodeOf(vm: string): Promise<string> {
    return (await this.vmis('')).find(({ metadata }) => metadata.name === vm)!.status!.nodeName!;
  }

  async annotate(vmi: string, annotations: Record<string, string | null>): Promise<void> {
    const key = { namespace: this.namespace, name: vmi };
    await this.#fleet.kube.patch(VirtualMachineInstances, key, 'merge', { metadata: { annotations } });
  }

  /** The phases of the migrations of the VM, by attempt. */
  async migrations(vm: string): Promise<Record<string, string | undefined>> {
    const { items } = await this.#fleet.kube.list<Migration>(VirtualMachineInstanceMigrations, {
      namespace: this.namespace,
    });
    return Object.fromEntries(
      items
        .filter(({ spec }) => spec.vmiName === vm)
        .map(({ metadata, status }) => [metadata.name.slice(metadata.name.lastIndexOf('-') + 1), status?.phase]),
    );
  }

  async events(): Promise<Event[]> {
    return (await this.#fleet.kube.list<Event>(Events, { namespace: this.namespace })).items;
  }

  /** Resolves when all VMs of the pool run, none of them on these nodes. */
  async left(pool: string, replicas: number, ...nodes: string[]): Promise<void> {
    await until(async () => {
      const vmis = await this.vmis(pool);
      expect(vmis.map(({ metadata }) => metadata.name).sort()).toEqual(namesUpTo(pool, replicas).sort());
      for (const { metadata, status } of vmis) {
        expect({ name: metadata.name, phase: status?.phase }).toEqual({ name: metadata.name, phase: 'Running' });
        expect(nodes).not.toContain(status?.nodeName);
      }
      expect(await this.#fleet.condition(this.namespace, pool, 'Draining')).toBeUndefined();
    });
  }

  /** Follows the VMIs, sharing nothing with drover, and counts how many are down or migrate at once. */
  watch(replicas: number): { most: () => number } {
    const ready = new Map<string, boolean>();
    let most = 0;
    const end = new AbortController();
    onTestFinished(() => end.abort());
    const note = ({ metadata, status }: Vmi, isGone: boolean): void => {
      const state = status?.migrationState;
      const isMoving = state !== undefined && state.endTimestamp == null;
      const isReady = status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ?? false;
      ready.set(metadata.name, isReady && !isMoving && !isGone && metadata.deletionTimestamp === undefined);
      const up = [...ready.values()].filter(Boolean).length;
      if (ready.size === replicas) most = Math.max(most, replicas - up);
    };
    const follow = async (): Promise<void> => {
      const { metadata, items } = await this.#fleet.kube.list<Vmi>(VirtualMachineInstances, {
        namespace: this.namespace,
      });
      for (const vmi of items) note(vmi, false);
      let version = metadata.resourceVersion;
      while (!end.signal.aborted) {
        const query = { resourceVersion: version, timeoutSeconds: '60' };
        const options = { namespace: this.namespace, query, signal: end.signal };
        for await (const { type, object } of this.#fleet.kube.watch<Vmi>(VirtualMachineInstances, options)) {
          note(object as Vmi, type === 'DELETED');
          version = (object as Vmi).metadata.resourceVersion;
        }
      }
    };
    follow().catch((error: unknown) => {
      if (!end.signal.aborted) throw error;
    });
    return { most: () => most };
  }
}
