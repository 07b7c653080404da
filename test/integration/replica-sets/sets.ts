import { expect, onTestFinished } from 'vitest';
import { controllerOf, type KubeObject, type Stored } from '../../../api/objects.ts';
import type { VmiSetSpec, ReplicaSetSpec, VirtualMachineReplicaSet } from '../../../api/replica-set/replica-set.ts';
import {
  CoreEvents,
  VirtualMachineInstanceReplicaSets,
  VirtualMachineInstances,
  VirtualMachineReplicaSets,
  VirtualMachines,
  type Resource,
} from '../../../api/resources.ts';
import { ignoreNotFound } from '../../../kubernetes/errors.ts';
import { until, type TestFleet } from '../fleet.ts';
import { untilSeen } from '../until-seen.ts';

type AnySpec = Omit<ReplicaSetSpec, 'template'> & Pick<ReplicaSetSpec | VmiSetSpec, 'template'>;
type SetObject = KubeObject & { spec: AnySpec; status?: NonNullable<VirtualMachineReplicaSet['status']> };

/** A kind of sets, and that of their members. */
export interface Kind {
  sets: Resource;
  members: Resource;
  template: (app: string) => AnySpec['template'];
  /** Of members that don't boot. */
  idle: (app: string) => AnySpec['template'];
}

/** What tests do to the replica sets of a fleet. */
export class TestSets {
  readonly #fleet: () => TestFleet;
  readonly #kind: Kind;

  constructor(fleet: () => TestFleet, kind: Kind = VMS) {
    this.#fleet = fleet;
    this.#kind = kind;
  }

  create(namespace: string, name: string, spec: Partial<AnySpec> = {}): Promise<Stored<SetObject>> {
    const set = {
      metadata: { namespace, name },
      spec: { replicas: 1, selector: { matchLabels: { app: name } }, template: this.#kind.template(name), ...spec },
    };
    return this.#fleet().kube.create<SetObject>(this.#kind.sets, set);
  }

  get(namespace: string, name: string): Promise<Stored<SetObject> | undefined> {
    return ignoreNotFound(this.#fleet().kube.get<SetObject>(this.#kind.sets, { namespace, name }));
  }

  patch(namespace: string, name: string, spec: Partial<AnySpec>): Promise<Stored<SetObject>> {
    return this.#fleet().kube.patch<SetObject>(this.#kind.sets, { namespace, name }, 'merge', { spec });
  }

  /** Returns the set's condition of this type; undefined if there is none. */
  async condition(namespace: string, name: string, type: string) {
    return (await this.get(namespace, name))?.status?.conditions?.find((condition) => condition.type === type);
  }

  /**
   * Resolves when the set has had a condition of this type that is like this, from now on, however soon it changes. The
   * set need not exist yet.
   */
  async had(namespace: string, name: string, type: string, condition: object): Promise<void> {
    await untilSeen<SetObject>(this.#fleet().kube, this.#kind.sets, { namespace, name }, ({ status }) =>
      expect(status?.conditions?.find((one) => one.type === type)).toMatchObject(condition),
    );
  }

  /** Returns the VMs, or VMIs, that the set controls. */
  async members(namespace: string, name: string): Promise<Stored[]> {
    const { items } = await this.#fleet().kube.list(this.#kind.members, { namespace });
    const set = await this.get(namespace, name);
    return items.filter((vm) => controllerOf(vm)?.uid === set?.metadata.uid);
  }

  /** Returns the reasons of the Events on the namespace's sets of this kind. */
  async events(namespace: string): Promise<string[]> {
    const { kind, group } = this.#kind.sets;
    const regards = ({ involvedObject }: Stored): boolean => {
      const { kind: other, apiVersion } = involvedObject as { kind: string; apiVersion: string };
      return other === kind && apiVersion.startsWith(`${group}/`);
    };
    const { items } = await this.#fleet().kube.list(CoreEvents, { namespace });
    return items.filter(regards).map(({ reason }) => String(reason));
  }

  /** Resolves with the members when the set has this many, none of them leaves, and its status counts them. */
  async settled(namespace: string, name: string, count: number): Promise<Stored[]> {
    let members: Stored[] = [];
    await until(async () => {
      members = await this.members(namespace, name);
      expect(members.filter(({ metadata }) => metadata.deletionTimestamp === undefined)).toHaveLength(count);
      expect(members).toHaveLength(count);
      const { metadata, status } = (await this.get(namespace, name))!;
      expect(status).toMatchObject({ replicas: count, observedGeneration: metadata.generation });
    });
    return members;
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
const haltedTemplateOf = (app: string): ReplicaSetSpec['template'] => templateOf(app, { runStrategy: 'Halted' });
/** The same of VMIs, which wait for a node that there is not. */
function waitingTemplateOf(app: string): VmiSetSpec['template'] {
  const template = instanceTemplateOf(app);
  return { ...template, spec: { ...template.spec, nodeSelector: { 'kubernetes.io/hostname': 'nowhere' } } };
}

/** A template of VMIs that start, and stop, at once; annotations may say otherwise. */
export const instanceTemplateOf = (app: string, annotations: Record<string, string> = {}): VmiSetSpec['template'] => ({
  metadata: {
    labels: { app },
    annotations: { 'sim.drover.dev/boot-time': '100ms', 'sim.drover.dev/stop-time': '100ms', ...annotations },
  },
  spec: { domain: { devices: {}, memory: { guest: '64Mi' } } },
});

export const VMS: Kind = {
  sets: VirtualMachineReplicaSets,
  members: VirtualMachines,
  template: templateOf,
  idle: haltedTemplateOf,
};
export const INSTANCES: Kind = {
  sets: VirtualMachineInstanceReplicaSets,
  members: VirtualMachineInstances,
  template: instanceTemplateOf,
  idle: waitingTemplateOf,
};

/** Both kinds, each after what tests call its members. */
export const KINDS: [string, Kind][] = [
  ['VMs', VMS],
  ['VMIs', INSTANCES],
];

export const uidsOf = (members: readonly Stored[]): string[] => members.map(({ metadata }) => metadata.uid).sort();

/**
 * Watches the VMs, or VMIs, of a namespace, on its own, and keeps the greatest number that there ever was at once. Ends
 * with the test, however that ends.
 */
export async function mostVms(
  fleet: TestFleet,
  namespace: string,
  resource: Resource = VirtualMachines,
): Promise<{ most: () => number; made: () => number }> {
  const there = new Set<string>();
  const names = new Set<string>();
  let most = 0;
  const abort = new AbortController();
  const { metadata } = await fleet.kube.list(resource, { namespace });
  const follow = async (): Promise<void> => {
    const query = { resourceVersion: metadata.resourceVersion };
    for await (const event of fleet.kube.watch(resource, { namespace, query, signal: abort.signal })) {
      if (event.type === 'ADDED') names.add(event.object.metadata.uid);
      if (event.type === 'ADDED' || event.type === 'MODIFIED') there.add(event.object.metadata.uid);
      else if (event.type === 'DELETED') there.delete(event.object.metadata.uid);
      most = Math.max(most, there.size);
    }
  };
  const following = follow().catch((error: unknown) => {
    if (!abort.signal.aborted) throw error;
  });
  onTestFinished(() => {
    abort.abort();
    return following;
  });
  return { most: () => most, made: () => names.size };
}
