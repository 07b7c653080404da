import { isDeepStrictEqual } from 'node:util';
import { MACHINE_TYPE_RESTART_LABEL, MACHINE_TYPE_TRANSITION_ANNOTATION, REVISION_LABEL } from '../../api/names.ts';
import type { Stored } from '../../api/objects.ts';
import type { VirtualMachine, VirtualMachineInstance } from '../../simulator/types.ts';

/** What the bookkeeping reads of a VM. */
export interface VmFacts {
  uid: string;
  strategy: string;
  /** KubeVirt's `status.ready`. */
  ready: boolean;
  /** It was asked to start, stop or restart, and KubeVirt has not done so yet. */
  asked: boolean;
  deleting: boolean;
  revision: string | null;
  machine: MachineFacts;
}

/** What a machine type transition changes of a VM. */
export interface MachineFacts {
  type: string | null;
  /** Id of the transition that it is marked for. */
  mark: string | null;
  /** The annotation as it stands. */
  record: string | null;
}

/** What the bookkeeping reads of a VMI. */
export interface VmiFacts {
  uid: string;
  /** Its Ready condition is True, and it is not going. */
  ready: boolean;
  deleting: boolean;
  final: boolean;
  revision: string | null;
}

/** One object as it was from a resource version on; null where it was gone. */
export type Change = {
  name: string;
  version: bigint;
  /** When the watcher was told: milliseconds since the epoch. */ at: number;
} & ({ kind: 'vm'; facts: VmFacts | null } | { kind: 'vmi'; facts: VmiFacts | null });

/** A VMI that a VM had. */
export interface Guest {
  uid: string;
  /** The revision that it was started with, and the one that it carried last: a live update changes it. */
  startedWith: string | null;
  revision: string | null;
  at: number;
}

export interface Peak {
  unavailable: number;
  names: string[];
  version: bigint;
  at: number;
}

export interface Entry {
  version: bigint;
  at: number;
  what: string;
}

/** A VM that was ready, and is to stay, and whose guest was sent away: by drover, or by people. */
export interface Departure {
  name: string;
  /** The revision of the guest that went. */
  revision: string | null;
  /** VMs that were down then, with this one, and since when: milliseconds since the epoch. */
  down: { name: string; since: number }[];
  version: bigint;
  at: number;
}

interface State {
  vms: Map<string, VmFacts>;
  vmis: Map<string, VmiFacts>;
}

/**
 * What watches told of the VMs of a namespace and of their VMIs, put in order by resource version: all kinds share
 * etcd's one revision, so the order of two changes is known however the two streams delivered them. Answers go through
 * the whole record each time they are asked for, so that what arrives late still finds its place.
 */
export class ReadinessLog {
  readonly #changes: Change[] = [];
  readonly #newest = new Map<string, bigint>();
  #inOrder = true;
  #from = 0n;

  /** A change that was told already counts once. */
  add(change: Change): void {
    const key = `${change.kind} ${change.name}`;
    const newest = this.#newest.get(key);
    if (newest !== undefined && change.version <= newest) return;
    this.#newest.set(key, change.version);
    this.#inOrder &&= (this.#changes.at(-1)?.version ?? 0n) < change.version;
    this.#changes.push(change);
  }

  /** The newest version that was told of the object; undefined where nothing was. */
  newestOf(kind: Change['kind'], name: string): bigint | undefined {
    return this.#newest.get(`${kind} ${name}`);
  }

  /** What was before this version is known, and no longer counted. */
  beginAt(version: bigint): void {
    this.#from = version;
  }

  /** Names of the VMs that are there. */
  names(): string[] {
    let last: string[] = [];
    this.#replay((_change, { vms }) => (last = [...vms.keys()]));
    return last;
  }

  /**
   * The instant, from the beginning of the recording on, at which the most VMs that were meant to run were not ready;
   * with `replicas`, VMs that were missing to so many count too. Ready is a VM of which both it and its VMI say so.
   */
  peak({ replicas = 0 }: { replicas?: number } = {}): Peak {
    let peak: Peak = { unavailable: 0, names: [], version: this.#from, at: 0 };
    const down = new Set<string>();
    this.#replay(({ name, version, at }, { vms, vmis }) => {
      if (isDown(vms.get(name), vmis.get(name))) down.add(name);
      else down.delete(name);
      const unavailable = down.size + Math.max(replicas - vms.size, 0);
      // Until the recording begins, only how it stood last.
      if (version <= this.#from || unavailable > peak.unavailable)
        peak = { unavailable, names: [...down].sort(), version, at };
    });
    return peak;
  }

  mostUnavailable(options: { replicas?: number } = {}): number {
    return this.peak(options).unavailable;
  }

  /**
   * Each time since the recording began that a guest of a ready VM was sent away; not with its VM, as when a pool gets
   * smaller.
   */
  departures(): Departure[] {
    const departures: Departure[] = [];
    const down = new Map<string, number>();
    const before = new Map<string, VmiFacts>();
    this.#replay(({ kind, name, version, at, facts }, { vms, vmis }) => {
      const wasUp = vms.get(name)?.deleting === false && !down.has(name);
      if (isDown(vms.get(name), vmis.get(name))) down.set(name, down.get(name) ?? at);
      else down.delete(name);
      if (kind !== 'vmi') return;
      const was = before.get(name);
      if (facts === null) before.delete(name);
      else before.set(name, facts);
      const goes = was?.ready === true && was.uid === facts?.uid && facts.deleting;
      if (goes && wasUp && version > this.#from)
        departures.push({ name, revision: was.revision, down: listed(down), version, at });
    });
    return departures;
  }

  /** How long VMs were down since the recording began, all taken together, by the watcher's clock; in milliseconds. */
  downtime(): number {
    const since = new Map<string, number>();
    let sum = 0;
    let last = 0;
    this.#replay(({ name, version, at }, { vms, vmis }) => {
      last = Math.max(last, at);
      const was = since.get(name);
      if (isDown(vms.get(name), vmis.get(name))) since.set(name, was ?? at);
      else if (since.delete(name) && version > this.#from) sum += at - was!;
    });
    for (const at of since.values()) sum += last - at;
    return sum;
  }

  /** Every VMI that the VM has had, the oldest first. */
  guestsOf(vm: string): Guest[] {
    return this.#guests(vm, 0n);
  }

  /** The VMIs that the VM got since the recording began: one for each restart. */
  restartsOf(vm: string): Guest[] {
    return this.#guests(vm, this.#from);
  }

  /**
   * Of each VM: how its machine type and what tells of it stood when the recording began, and each other state since.
   */
  machines(): Map<string, MachineFacts[]> {
    const machines = new Map<string, MachineFacts[]>();
    this.#replay(({ kind, name, version, facts }) => {
      if (kind !== 'vm' || facts === null) return;
      const known = machines.get(name);
      if (known === undefined || version <= this.#from) machines.set(name, [facts.machine]);
      else if (!isDeepStrictEqual(known.at(-1), facts.machine)) known.push(facts.machine);
    });
    return machines;
  }

  /** What became of the VM, in order. */
  history(vm: string): Entry[] {
    const entries: Entry[] = [];
    let vmBefore: VmFacts | undefined;
    let guestBefore: VmiFacts | undefined;
    this.#replay((change, { vms, vmis }) => {
      if (change.name !== vm) return;
      const [now, guest] = [vms.get(vm), vmis.get(vm)];
      for (const what of [...vmWords(vmBefore, now), ...guestWords(guestBefore, guest)])
        entries.push({ version: change.version, at: change.at, what });
      [vmBefore, guestBefore] = [now, guest];
    });
    return entries;
  }

  #guests(vm: string, after: bigint): Guest[] {
    const guests = new Map<string, Guest & { version: bigint }>();
    this.#replay((change) => {
      if (change.kind !== 'vmi' || change.name !== vm || change.facts === null) return;
      const { uid, revision } = change.facts;
      const known = guests.get(uid);
      if (known === undefined)
        guests.set(uid, { uid, startedWith: revision, revision, at: change.at, version: change.version });
      else known.revision = revision;
    });
    return [...guests.values()]
      .filter(({ version }) => version > after)
      .map(({ version: _version, ...guest }) => guest);
  }

  /** `state` is that after the change. */
  #replay(visit: (change: Change, state: State) => void): void {
    if (!this.#inOrder) this.#changes.sort((one, other) => (one.version < other.version ? -1 : 1));
    this.#inOrder = true;
    const state: State = { vms: new Map(), vmis: new Map() };
    for (const change of this.#changes) {
      if (change.kind === 'vm') put(state.vms, change.name, change.facts);
      else put(state.vmis, change.name, change.facts);
      visit(change, state);
    }
  }
}

const listed = (down: ReadonlyMap<string, number>): Departure['down'] =>
  [...down].map(([name, since]) => ({ name, since })).sort((one, other) => (one.name < other.name ? -1 : 1));

function put<T>(map: Map<string, T>, name: string, facts: T | null): void {
  if (facts === null) map.delete(name);
  else map.set(name, facts);
}

/** Whether the VM's owner wants a guest to run now. */
export function isMeantToRun(vm: VmFacts, guest: VmiFacts | undefined): boolean {
  if (vm.deleting) return false;
  switch (vm.strategy) {
    case 'Always':
      return true;
    case 'Once':
      return guest === undefined || !guest.final;
    case 'RerunOnFailure':
    case 'Manual':
      return vm.asked || (guest !== undefined && !guest.final && !guest.deleting);
    default:
      return false;
  }
}

const isDown = (vm: VmFacts | undefined, guest: VmiFacts | undefined): boolean =>
  vm !== undefined && isMeantToRun(vm, guest) && !(vm.ready && guest?.ready === true);

export const vmFacts = ({ metadata, spec, status }: Stored<VirtualMachine>): VmFacts => ({
  uid: metadata.uid,
  strategy: spec.runStrategy ?? (spec.running === true ? 'Always' : 'Halted'),
  ready: status?.ready === true,
  asked: (status?.stateChangeRequests?.length ?? 0) > 0,
  deleting: metadata.deletionTimestamp !== undefined,
  revision: metadata.labels?.[REVISION_LABEL] ?? null,
  machine: {
    type: spec.template.spec.domain.machine?.type ?? null,
    mark: metadata.labels?.[MACHINE_TYPE_RESTART_LABEL] ?? null,
    record: metadata.annotations?.[MACHINE_TYPE_TRANSITION_ANNOTATION] ?? null,
  },
});

export function vmiFacts({ metadata, status }: Stored<VirtualMachineInstance>): VmiFacts {
  const deleting = metadata.deletionTimestamp !== undefined;
  return {
    uid: metadata.uid,
    ready: !deleting && status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True',
    deleting,
    final: status?.phase === 'Succeeded' || status?.phase === 'Failed',
    revision: metadata.labels?.[REVISION_LABEL] ?? null,
  };
}

function vmWords(before: VmFacts | undefined, now: VmFacts | undefined): string[] {
  if (now === undefined) return before === undefined ? [] : ['VM gone'];
  const words: string[] = [];
  const fresh = before?.uid !== now.uid;
  if (fresh) words.push(`VM ${now.uid} there with revision ${now.revision}`);
  else if (before.revision !== now.revision) words.push(`VM has revision ${now.revision}`);
  if (fresh ? now.ready : before.ready !== now.ready) words.push(`VM ${now.ready ? 'ready' : 'not ready'}`);
  if (now.deleting && (fresh || !before.deleting)) words.push('VM going');
  return words;
}

function guestWords(before: VmiFacts | undefined, now: VmiFacts | undefined): string[] {
  if (now === undefined) return before === undefined ? [] : ['guest gone'];
  const words: string[] = [];
  const fresh = before?.uid !== now.uid;
  if (fresh) words.push(`guest ${now.uid} there with revision ${now.revision}`);
  else if (before.revision !== now.revision) words.push(`guest has revision ${now.revision}`);
  if (now.deleting && (fresh || !before.deleting)) words.push('guest going');
  else if (fresh ? now.ready : before.ready !== now.ready) words.push(`guest ${now.ready ? 'ready' : 'not ready'}`);
  return words;
}
