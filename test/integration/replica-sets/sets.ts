import { expect } from 'vitest';
import { controllerOf, type KubeObject, type Stored } from '../../../api/objects.ts';
import type { ReplicaSetSpec, VirtualMachineReplicaSet } from '../../../api/replica-set/replica-set.ts';
import { VirtualMachineReplicaSets, VirtualMachines } from '../../../api/resources.ts';
import { ignoreNotFound } from '../../../kubernetes/errors.ts';
import { until, type TestFleet } from '../fleet.ts';

export type SetObject = KubeObject & Pick<VirtualMachineReplicaSet, 'spec' | 'status'>;

/** What tests do to the replica sets of a fleet. */
export class TestSets {
  readonly #fleet: () => TestFleet;

  constructor(fleet: () => TestFleet) {
    this.#fleet = fleet;
  }

  create(namespace: string, name: string, spec: Partial<ReplicaSetSpec> = {}): Promise<Stored<SetObject>> {
    const set = {
      metadata: { namespace, name },
      spec: { replicas: 1, selector: { matchLabels: { app: name } }, template: templateOf(name), ...spec },
    };
    return this.#fleet().kube.create<SetObject>(VirtualMachineReplicaSets, set);
  }

  get(namespace: string, name: string): Promise<Stored<SetObject> | undefined> {
    return ignoreNotFound(this.#fleet().kube.get<SetObject>(VirtualMachineReplicaSets, { namespace, name }));
  }

  patch(namespace: string, name: string, spec: Partial<ReplicaSetSpec>): Promise<Stored<SetObject>> {
    return this.#fleet().kube.patch<SetObject>(VirtualMachineReplicaSets, { namespace, name }, 'merge', { spec });
  }

  /** Returns the set's condition of this type; undefined if there is none. */
  async condition(namespace: string, name: string, type: string) {
    return (await this.get(namespace, name))?.status?.conditions?.find((condition) => condition.type === type);
  }

  /** Returns the VMs that the set controls. */
  async vms(namespace: string, name: string): Promise<Stored[]> {
    const { items } = await this.#fleet().kube.list(VirtualMachines, { namespace });
    const set = await this.get(namespace, name);
    return items.filter((vm) => controllerOf(vm)?.uid === set?.metadata.uid);
  }

  /** Resolves with the VMs when the set has this many, none of them leaves, and its status counts them. */
  async settled(namespace: string, name: string, count: number): Promise<Stored[]> {
    let vms: Stored[] = [];
    await until(async () => {
      vms = await this.vms(namespace, name);
      expect(vms.filter(({ metadata }) => metadata.deletionTimestamp === undefined)).toHaveLength(count);
      expect(vms).toHaveLength(count);
      const { metadata, status } = (await this.get(namespace, name))!;
      expect(status).toMatchObject({ replicas: count, observedGeneration: metadata.generation });
    });
    return vms;
  }
}

/** A template of VMs that start, and stop, at once. */
export const templateOf = (app: string, spec: object = {}): ReplicaSetSpec['template'] => ({
  metadata: { labels: { app } },
  spec: {
    runStrategy: 'Always',
    template: {
      metadata: { annotations: { 'sim.drover.dev/boot-time': '100ms', 'sim.drover.dev/stop-time': '100ms' } },
      spec: { domain: { devices: {}, memory: { guest: '64Mi' } } },
    },
    ...spec,
  },
});

/** A template of stopped VMs, for tests of creation rather than boot. */
export const haltedTemplateOf = (app: string): ReplicaSetSpec['template'] => templateOf(app, { runStrategy: 'Halted' });

/** Watches the VMs of a namespace, on its own, and keeps the greatest number that there ever was at once. */
export async function mostVms(
  fleet: TestFleet,
  namespace: string,
): Promise<{ most: () => number; made: () => number; stop: () => void }> {
  const there = new Set<string>();
  const names = new Set<string>();
  let most = 0;
  const abort = new AbortController();
  const { metadata } = await fleet.kube.list(VirtualMachines, { namespace });
  const follow = async (): Promise<void> => {
    const query = { resourceVersion: metadata.resourceVersion };
    for await (const event of fleet.kube.watch(VirtualMachines, { namespace, query, signal: abort.signal })) {
      if (event.type === 'ADDED') names.add(event.object.metadata.uid);
      if (event.type === 'ADDED' || event.type === 'MODIFIED') there.add(event.object.metadata.uid);
      else if (event.type === 'DELETED') there.delete(event.object.metadata.uid);
      most = Math.max(most, there.size);
    }
  };
  const following = follow().catch((error: unknown) => {
    if (!abort.signal.aborted) throw error;
  });
  return { most: () => most, made: () => names.size, stop: () => (abort.abort(), void following) };
}
