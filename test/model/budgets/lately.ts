import { controllerOf, type KubeObject, type Stored } from '../../../api/objects.ts';
import {
  VirtualMachineInstances,
  VirtualMachinePools,
  VirtualMachineReplicaSets,
  VirtualMachines,
} from '../../../api/resources.ts';
import { wantedReplicas } from '../../../api/rules/wanted-replicas.ts';
import { roleOf } from '../../../decisions/views/vm.ts';
import type { VirtualMachineInstance } from '../../../simulator/objects/kubevirt.ts';
import { isActive, isGoing, isReady, runs, type Pool } from '../facts.ts';
import type { Watched } from '../readings.ts';
import type { Write } from '../world/api-server.ts';

interface Counts {
  expected: number;
  available: number;
}

/** How something has counted, with the times since which. */
class History {
  #entries: (Counts & { since: number })[];

  /** What has just appeared was not there before. */
  constructor(now: number | null) {
    this.#entries = now === null ? [{ since: -Infinity, expected: 0, available: 0 }] : [];
  }

  note(now: number, { expected, available }: Counts): void {
    const last = this.#entries.at(-1);
    if (last === undefined || last.expected !== expected || last.available !== available)
      this.#entries.push({ since: now, expected, available });
  }

  /** How it has counted at any time since then. */
  since(time: number): readonly Counts[] {
    const from = this.#entries.findLastIndex(({ since }) => since <= time);
    this.#entries = this.#entries.slice(Math.max(from, 0));
    return this.#entries;
  }
}

/** What is known of a VM, also of one that is gone. Its name is the only one of all namespaces. */
export interface KnownVm {
  name: string;
  metadata: Stored['metadata'];
  /** UID of the pool or set that it is in. */
  owner: string | undefined;
  isThere: boolean;
  /** Since when it serves, or no more. */
  since: number;
  serves: boolean;
  /** Where it has served last. */
  node: string | undefined;
  history: History;
}

/** How all VMs, and those that pools and sets are missing, have counted in the last seconds: by what was written. */
export class Lately {
  readonly #world: Watched;
  readonly vms = new Map<string, KnownVm>();
  /** By the UIDs of pools and sets. */
  readonly #missing = new Map<string, History>();

  constructor(world: Watched) {
    this.#world = world;
    for (const vm of world.vms) this.#look(vm.metadata);
    for (const keeper of this.keepers) this.#lookAtKeeper(keeper.metadata.uid);
  }

  onWrite({ resource, before, after }: Write): void {
    const object = (after ?? before)!;
    if (resource === VirtualMachinePools || resource === VirtualMachineReplicaSets)
      this.#lookAtKeeper(object.metadata.uid);
    if (resource !== VirtualMachines && resource !== VirtualMachineInstances) return;
    this.#look(object.metadata);
    if (resource === VirtualMachines)
      for (const vm of [before, after]) {
        const owner = vm && controllerOf(vm)?.uid;
        if (owner !== undefined) this.#lookAtKeeper(owner);
      }
  }

  /** What was so before does not count any more, since a worker has changed it. */
  forgetBefore(name: string): void {
    const known = this.vms.get(name);
    if (known === undefined) return;
    known.history = new History(this.#world.time.now);
    this.#look(known.metadata);
  }

  /** Pools and sets that keep VMs at a number. */
  get keepers(): Pool[] {
    const { server } = this.#world;
    return [VirtualMachinePools, VirtualMachineReplicaSets]
      .flatMap((resource) => server.all(resource) as Pool[])
      .filter((keeper) => !isGoing(keeper));
  }

  missingNow = (uid: string): number => this.#missing.get(uid)?.since(this.#world.time.now).at(-1)?.expected ?? 0;

  /** How few VMs the pool or set was missing at any time since then. */
  leastMissing = (uid: string, time: number): number =>
    Math.min(...(this.#missing.get(uid)?.since(time) ?? []).map(({ expected }) => expected));

  #look(metadata: KubeObject['metadata']): void {
    const { server, time } = this.#world;
    const { namespace, name } = metadata;
    const vm = server.find(VirtualMachines, { namespace, name });
    const vmi = server.find<VirtualMachineInstance>(VirtualMachineInstances, { namespace, name });
    const known = this.vms.get(name) ?? this.#begin(name, vm);
    if (known === undefined) return;
    const role = roleOf(vm?.metadata.labels);
    const counts = vm !== undefined && isActive(vm) && runs(vm) && role !== 'Standby';
    const serves = counts && isReady(vmi);
    known.history.note(time.now, { expected: Number(counts && role === null), available: Number(serves) });
    if (serves !== known.serves) known.since = time.now;
    known.serves = serves;
    known.isThere = vm !== undefined;
    if (vm !== undefined) {
      known.metadata = vm.metadata;
      known.owner = controllerOf(vm)?.uid;
    }
    if (serves) known.node = vmi!.status?.nodeName;
    // A VM that was stopped is nowhere, until it has served again.
    else if (!counts) known.node = undefined;
  }

  #begin(name: string, vm: Stored | undefined): KnownVm | undefined {
    if (vm === undefined) return undefined;
    const { metadata } = vm;
    const history = new History(null);
    const now = this.#world.time.now;
    const owner = controllerOf(vm)?.uid;
    const known = { name, metadata, owner, isThere: true, since: now, serves: false, node: undefined, history };
    this.vms.set(name, known);
    return known;
  }

  #lookAtKeeper(uid: string): void {
    const keeper = this.keepers.find(({ metadata }) => metadata.uid === uid);
    const history = this.#missing.get(uid) ?? new History(null);
    this.#missing.set(uid, history);
    const isPresent = (vm: Stored): boolean =>
      controllerOf(vm)?.uid === uid && isActive(vm) && roleOf(vm.metadata.labels) === null;
    const missing =
      keeper === undefined ? 0 : Math.max(wantedReplicas(keeper) - this.#world.vms.filter(isPresent).length, 0);
    history.note(this.#world.time.now, { expected: missing, available: 0 });
  }
}
