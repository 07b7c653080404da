import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject } from '../../api/objects.ts';
import type { OperationSpec } from '../../api/operations/operation.ts';
import {
  Nodes,
  VirtualMachineInstances,
  VirtualMachineOperations,
  VirtualMachineOperationSchedules,
  VirtualMachinePools,
  VirtualMachines,
} from '../../api/resources.ts';
import { userOf } from '../../clients/session/requester.ts';
import type { StoredOperation } from '../../decisions/views/stored-operation.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreNotFound, KubeError } from '../../kubernetes/errors.ts';
import type { VirtualMachineInstance } from '../../simulator/objects/kubevirt.ts';
import { rolloutRequest } from '../requests.ts';
import { ALONE, REPLICAS, revised, SET_REPLICAS, SETS, SWITCHED, TYPES } from './fleet.ts';
import type { Observer } from './observer.ts';
import { NAMESPACE } from './seen-world.ts';

const namespace = NAMESPACE;
type Vmi = VirtualMachineInstance & KubeObject;
/** At most so many operations of the soak's own are open at once. */
const OPERATIONS = 3;
/** How long a node stays cordoned, in milliseconds. */
const CORDONED_MS = 40_000;
const UPDATED = ['web', 'web', 'surge', 'replaced', 'drained'];

/** What users have drover do, at random. */
export class Work {
  /** How often each kind was asked for. */
  readonly counts = new Map<string, number>();
  /** How often what was asked for got no answer, or was refused, since servers were dead. */
  failed = 0;
  readonly #kube: KubeClient;
  readonly #observer: Observer;
  readonly #random: () => number;
  #count = 0;
  #cordoned: string | undefined;

  constructor(kube: KubeClient, observer: Observer, random: () => number) {
    this.#kube = kube;
    this.#observer = observer;
    this.#random = random;
  }

  /** Goes on until the signal. `gapMs`: between two requests, on average. */
  async until(signal: AbortSignal, gapMs: number): Promise<void> {
    const acts: Record<string, () => Promise<unknown>> = {
      rollout: () => this.#roll(),
      approval: () => this.#approve(),
      heal: () => this.#breakOne(),
      drain: () => this.#evict(),
      'scale-in or -out with kept disks': () => this.#scaleDisks(),
      'restart of VMs': () => this.#operate({ action: 'Restart', vms: { names: this.#some(ALONE, 6) }, atOnce: 2 }),
      // The budget of the pool is smaller: claims have to keep it.
      'restart of a pool': () =>
        this.#operate({ action: 'Restart', vms: { owner: { kind: 'VirtualMachinePool', name: 'web' } }, atOnce: 20 }),
      'stop or start': () => this.#switch(),
      'change or its undo': () => this.#change(),
      'machine type change': () => this.#changeTypes(),
      'replica set': () => this.#changeSet(),
    };
    const kinds = [...Object.keys(acts), 'restart of a pool', 'scale-in or -out with kept disks'];
    while (!signal.aborted) {
      await sleep(2 * gapMs * this.#random(), undefined, { signal }).catch(() => {});
      if (signal.aborted) break;
      const kind = this.#one(kinds);
      try {
        if ((await acts[kind]!()) === null) continue;
        this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1);
        this.#observer.say(kind);
      } catch (error) {
        // What the API server says no to for good is a mistake of the soak.
        if (error instanceof KubeError && [400, 422].includes(error.status)) throw error;
        this.failed++;
      }
    }
  }

  /** Ends what holds things up: a node that is cordoned, steps that wait for a user, and the times of the schedule. */
  async end(): Promise<void> {
    await this.#uncordon();
    const { items } = await this.#kube.list<Vmi>(VirtualMachineInstances, { namespace });
    for (const { metadata, status } of items) await this.#takeBack(metadata.name, status?.evacuationNodeName);
    await this.#patchPool('web', { spec: { rollout: { steps: [] } } });
    await ignoreNotFound(this.#kube.delete(VirtualMachineOperationSchedules, { namespace, name: 'minutely' }));
  }

  #one<T>(of: readonly T[]): T {
    return of[Math.floor(this.#random() * of.length)]!;
  }

  #some(of: readonly string[], count: number): string[] {
    return [...new Set(Array.from({ length: count }, () => this.#one(of)))];
  }

  #patchPool(name: string, patch: object): Promise<unknown> {
    return this.#kube.patch(VirtualMachinePools, { namespace, name }, 'merge', patch);
  }

  #roll(): Promise<unknown> {
    return this.#patchPool(this.#one(UPDATED), revised(++this.#count));
  }

  async #approve(): Promise<unknown> {
    const pool = await this.#kube.get(VirtualMachinePools, { namespace, name: 'web' });
    const asked = { by: await userOf(this.#kube), id: `soak-${++this.#count}` };
    const { annotations } = rolloutRequest(pool as never, 'promote', asked);
    return this.#patchPool('web', { metadata: { annotations } });
  }

  /** Has a VM fail all its starts from now on: another is made in its place. */
  async #breakOne(): Promise<unknown> {
    const at = { namespace, name: `sick-${1 + Math.floor(this.#random() * REPLICAS)}` };
    const annotations = { 'sim.drover.dev/fail-starts': 'always' };
    await this.#kube.patch(VirtualMachines, at, 'merge', { spec: { template: { metadata: { annotations } } } });
    return this.#kube.delete(VirtualMachineInstances, at);
  }

  /** Cordons the node of a VM, and asks that it leaves; one node at a time. */
  async #evict(): Promise<unknown> {
    if (this.#cordoned !== undefined) return null;
    const at = { namespace, name: `drained-${1 + Math.floor(this.#random() * REPLICAS)}` };
    const { status } = await this.#kube.get<Vmi>(VirtualMachineInstances, at);
    const node = status?.nodeName;
    if (node === undefined) return null;
    this.#cordoned = node;
    this.#observer.does((world) => world.drained(node, true));
    setTimeout(() => void this.#uncordon().catch(() => {}), CORDONED_MS).unref();
    await this.#kube.patch(Nodes, { name: node }, 'merge', { spec: { unschedulable: true } });
    return this.#kube.patch(VirtualMachineInstances, at, 'merge', {
      metadata: { annotations: { 'sim.drover.dev/evict-from': node } },
    });
  }

  async #uncordon(): Promise<void> {
    const node = this.#cordoned;
    if (node === undefined) return;
    for (let isOn = true; isOn;) {
      await this.#kube
        .patch(Nodes, { name: node }, 'merge', { spec: { unschedulable: null } })
        .then(() => (isOn = false))
        .catch(() => sleep(1_000));
    }
    this.#observer.does((world) => world.drained(node, false));
    this.#cordoned = undefined;
  }

  /** Takes an eviction back that has come to nothing, as `virtctl evacuate-cancel` does. */
  async #takeBack(name: string, evacuationNodeName: string | undefined): Promise<void> {
    if (evacuationNodeName === undefined) return;
    const annotations = { 'sim.drover.dev/evict-from': null };
    await this.#kube.patch(VirtualMachineInstances, { namespace, name }, 'merge', { metadata: { annotations } });
    const path = `/apis/subresources.kubevirt.io/v1/namespaces/${namespace}/virtualmachineinstances/${name}/evacuate/cancel`;
    await this.#kube.request({ method: 'PUT', path, body: { evacuationNodeName } });
  }

  #scaleDisks(): Promise<unknown> {
    return this.#patchPool('disks', { spec: { replicas: 5 + Math.floor(this.#random() * 11) } });
  }

  #switch(): Promise<unknown> {
    const action = this.#one(['Stop', 'Start'] as const);
    return this.#operate({ action, vms: { names: [...SWITCHED] }, atOnce: 3 });
  }

  /** Changes a label of VMs, or undoes an earlier change. */
  async #change(): Promise<unknown> {
    const names = this.#some(ALONE, 12);
    const merge = JSON.stringify({ metadata: { labels: { tier: `t${this.#count}` } } });
    const earlier = (await this.#operations()).filter(({ spec }) => spec.patch?.merge !== undefined);
    const undone = this.#random() < 0.4 ? earlier.at(-1) : undefined;
    if (undone === undefined) return this.#operate({ action: 'Patch', patch: { merge }, vms: { names } });
    return this.#operate({ action: 'Patch', patch: { undo: undone.metadata.name }, vms: undone.spec.vms });
  }

  /** Two that run at once could each change what the other has changed. */
  async #changeTypes(): Promise<unknown> {
    const open = (await this.#operations()).filter(isOpen);
    if (open.some(({ spec }) => spec.action === 'MachineType')) return null;
    const [to, from] = this.#random() < 0.5 ? TYPES : ([TYPES[1], TYPES[0]] as const);
    const machineType = { from, to, restart: true, force: true };
    return this.#operate({ action: 'MachineType', machineType, vms: { names: ALONE.slice(14) }, atOnce: 3 });
  }

  async #operate(spec: OperationSpec): Promise<unknown> {
    if ((await this.#operations()).filter(isOpen).length >= OPERATIONS) return null;
    const metadata = { namespace, name: `op-${++this.#count}` };
    return this.#kube.create(VirtualMachineOperations, { metadata, spec: { maxFailures: 0, ...spec } });
  }

  /** Those that the soak has made, the oldest first. */
  async #operations(): Promise<StoredOperation[]> {
    const { items } = await this.#kube.list<StoredOperation>(VirtualMachineOperations, { namespace });
    return items
      .filter(({ metadata }) => metadata.name.startsWith('op-'))
      .toSorted((a, b) => Number(a.metadata.name.slice(3)) - Number(b.metadata.name.slice(3)));
  }

  /** Gives a set another size, or deletes a member of one. */
  async #changeSet(): Promise<unknown> {
    const name = this.#one(Object.keys(SETS) as (keyof typeof SETS)[]);
    const replicas = SET_REPLICAS - 4 + Math.floor(this.#random() * 9);
    if (this.#random() < 0.5) return this.#kube.patch(SETS[name], { namespace, name }, 'merge', { spec: { replicas } });
    const members = name === 'front' ? VirtualMachineInstances : VirtualMachines;
    const { items } = await this.#kube.list(members, { namespace, labelSelector: `app=${name}` });
    return items.length === 0 ? null : this.#kube.delete(members, this.#one(items).metadata);
  }
}

export const isOpen = ({ status }: StoredOperation): boolean => status?.completionTime === undefined;
