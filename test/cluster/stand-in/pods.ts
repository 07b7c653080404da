import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject, Stored } from '../../../api/objects.ts';
import { Nodes, Pods } from '../../../api/resources.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { ignoreNotFound } from '../../../kubernetes/errors.ts';
import { ListWatch } from '../../../kubernetes/list-watch.ts';

const START_MS = 100;
const RETRY_MS = 1_000;
/** What a pod may ask of a node that the stand-in's nodes say about themselves. */
const SELECTABLE = /^(machine-type\.node\.kubevirt\.io\/.+|kubernetes\.io\/hostname|kubevirt\.io\/schedulable)$/;

interface Requirement {
  key: string;
  operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
  values?: string[];
}
interface Term {
  topologyKey: string;
  labelSelector?: { matchLabels?: Record<string, string>; matchExpressions?: Requirement[] };
}
type Pod = Stored<
  KubeObject & {
    spec: {
      nodeName?: string;
      nodeSelector?: Record<string, string>;
      containers: { name: string; image?: string }[];
      affinity?: { podAntiAffinity?: { requiredDuringSchedulingIgnoredDuringExecution?: Term[] } };
    };
    status?: { phase?: string };
  }
>;
type Node = Stored<KubeObject & { spec?: { unschedulable?: boolean } }>;

const asItIs = <T>(object: T): T => object;
const hasEnded = ({ status }: Pod): boolean => status?.phase === 'Succeeded' || status?.phase === 'Failed';

/** Plays scheduler and kubelet: pods go to the emptiest node that they allow, run at once, and end when deleted. */
export class PodPlayer {
  readonly #client: KubeClient;
  readonly #names: ReadonlySet<string>;
  readonly #pods: ListWatch<Pod, Pod>;
  readonly #nodes: ListWatch<Node, Node>;
  /** Nodes of pods that are about to be bound, by UID: the watch does not show them yet. */
  readonly #bound = new Map<string, string>();

  constructor(client: KubeClient, names: readonly string[]) {
    this.#client = client;
    this.#names = new Set(names);
    this.#nodes = new ListWatch<Node, Node>({ client, resource: Nodes, view: asItIs });
    this.#pods = new ListWatch<Pod, Pod>({
      client,
      resource: Pods,
      view: asItIs,
      onChange: (_key, before, after) => this.#changed(before, after),
    });
  }

  async start(): Promise<void> {
    await this.#nodes.start().ready();
    await this.#pods.start().ready();
    setInterval(() => {
      for (const pod of this.#pods.values()) this.#changed(undefined, pod);
    }, RETRY_MS);
  }

  /** Ends a pod whose guest has left it, or never came. */
  async end(namespace: string, name: string, phase: 'Succeeded' | 'Failed'): Promise<void> {
    const options = { subresource: 'status' };
    await ignoreNotFound(this.#client.patch(Pods, { namespace, name }, 'merge', { status: { phase } }, options));
  }

  #changed(before: Pod | undefined, after: Pod | undefined): void {
    if (after === undefined) this.#bound.delete(before!.metadata.uid);
    else this.#play(after).catch((error: Error) => console.error(`pod ${after.metadata.name}: ${error.message}`));
  }

  async #play(pod: Pod): Promise<void> {
    const { metadata, spec, status } = pod;
    if (metadata.deletionTimestamp !== undefined)
      return void (await ignoreNotFound(this.#client.delete(Pods, metadata, { gracePeriodSeconds: 0 })));
    if (hasEnded(pod) || status?.phase === 'Running') return;
    if (spec.nodeName === undefined) await this.#bind(pod);
    else await this.#run(pod);
  }

  async #bind({ metadata, ...pod }: Pod): Promise<void> {
    const { namespace, name, uid } = metadata;
    if (this.#bound.has(uid)) return;
    const node = this.#nodeFor({ metadata, ...pod });
    if (node === undefined) {
      const lacking = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: 'no node takes it' };
      const conditions = [{ ...lacking, lastTransitionTime: new Date().toISOString() }];
      const patch = { status: { conditions } };
      return void (await ignoreNotFound(this.#client.patch(Pods, metadata, 'merge', patch, { subresource: 'status' })));
    }
    this.#bound.set(uid, node);
    const target = { apiVersion: 'v1', kind: 'Node', name: node };
    const body = { apiVersion: 'v1', kind: 'Binding', metadata: { name }, target };
    const path = `/api/v1/namespaces/${namespace}/pods/${name}/binding`;
    await ignoreNotFound(this.#client.request({ method: 'POST', path, body }));
  }

  #nodeFor(pod: Pod): string | undefined {
    const pods = [...this.#pods.values()].filter((one) => !hasEnded(one) && one.metadata.uid !== pod.metadata.uid);
    const terms = pod.spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
    const apart = pods.filter((one) => terms.some((term) => matches(term, pod, one)));
    const barred = new Set(apart.map((one) => this.#nodeOf(one)));
    const wanted = Object.entries(pod.spec.nodeSelector ?? {}).filter(([key]) => SELECTABLE.test(key));
    const beside = (name: string): number =>
      pods.filter((one) => one.metadata.namespace === pod.metadata.namespace && this.#nodeOf(one) === name).length;
    return [...this.#nodes.values()]
      .filter(({ metadata: { name, labels = {} }, spec }) => {
        const isOpen = this.#names.has(name) && spec?.unschedulable !== true && !barred.has(name);
        return isOpen && wanted.every(([key, value]) => labels[key] === value);
      })
      .map(({ metadata }) => metadata.name)
      .toSorted((a, b) => beside(a) - beside(b) || (a < b ? -1 : 1))[0];
  }

  #nodeOf({ metadata, spec }: Pod): string | undefined {
    return spec.nodeName ?? this.#bound.get(metadata.uid);
  }

  async #run({ metadata, spec }: Pod): Promise<void> {
    await sleep(START_MS);
    const now = new Date().toISOString();
    const types = ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'];
    const conditions = types.map((type) => ({ type, status: 'True', lastTransitionTime: now }));
    const containerStatuses = spec.containers.map(({ name, image = 'image' }) => ({
      name,
      image,
      imageID: image,
      ready: true,
      restartCount: 0,
      started: true,
      state: { running: { startedAt: now } },
    }));
    const ip = '10.1.2.3';
    const status = { phase: 'Running', podIP: ip, podIPs: [{ ip }], startTime: now, conditions, containerStatuses };
    await ignoreNotFound(this.#client.patch(Pods, metadata, 'merge', { status }, { subresource: 'status' }));
  }
}

/** Reports whether a pod must not be on the same node as another, such as a migration's target as its source. */
function matches({ topologyKey, labelSelector = {} }: Term, { metadata }: Pod, other: Pod): boolean {
  const { matchLabels = {}, matchExpressions = [] } = labelSelector;
  const labels = other.metadata.labels ?? {};
  const holds = ({ key, operator, values = [] }: Requirement): boolean => {
    const isThere = labels[key] !== undefined;
    if (operator === 'Exists') return isThere;
    if (operator === 'DoesNotExist') return !isThere;
    return (isThere && values.includes(labels[key]!)) === (operator === 'In');
  };
  return (
    topologyKey === 'kubernetes.io/hostname' &&
    other.metadata.namespace === metadata.namespace &&
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(holds)
  );
}
