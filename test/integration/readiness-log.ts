import { isDeepStrictEqual } from 'node:util';
import {
  MACHINE_TYPE_RESTART_LABEL,
  MACHINE_TYPE_TRANSITION_ANNOTATION,
  REVISION_LABEL,
} from '../../api/labels-and-annotations.ts';
import type { Stored } from '../../api/objects.ts';
import type { VirtualMachine, VirtualMachineInstance } from '../../simulator/objects/kubevirt.ts';

/** The facts of a VM that the log uses. */
export interface VmFacts {
  uid: string;
  strategy: string;
  /** KubeVirt's `status.ready`. */
  ready: boolean;
  /** A start, stop or restart was requested, and KubeVirt has not carried it out yet. */
  asked: boolean;
  deleting: boolean;
  revision: string | null;
  machine: MachineFacts;
}

/** The parts of a VM that a machine type transition changes. */
interface MachineFacts {
  type: string | null;
  /** Id of the transition that has marked the VM for a restart. */
  mark: string | null;
  /** The raw value of the annotation. */
  record: string | null;
}

/** The facts of a VMI that the log uses. */
export interface VmiFacts {
  uid: string;
  /** Its Ready condition is True, and it is not terminating. */
  ready: boolean;
  deleting: boolean;
  final: boolean;
  revision: string | null;
}

/** The state of one object from a resource version on; null facts if it was deleted. */
export type Change = {
  name: string;
  version: bigint;
  /** When the watcher received the change, in milliseconds since the epoch. */ at: number;
} & ({ kind: 'vm'; facts: VmFacts | null } | { kind: 'vmi'; facts: VmiFacts | null });

/** A VMI that a VM has or had. */
export interface Vmi {
  uid: string;
  /** The revisions that the VMI was started with and carried last: a live update changes the latter. */
  startedWith: string | null;
  revision: string | null;
  at: number;
}

interface Peak {
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

/** The termination of a ready VM's VMI, by drover or by users, while the VM itself stays. */
export interface RemovalCause {
  name: string;
  /** The revision of the terminating VMI. */
  revision: string | null;
  /** The VMs that were down then, this one included, and since when, in milliseconds since the epoch. */
  down: { name: string; since: number }[];
  version: bigint;
  at: number;
}

interface State {
  vms: Map<string, VmFacts>;
  vmis: Map<string, VmiFacts>;
}

/**
 * What watches reported about the VMs of a namespace and their VMIs, ordered by resource version: all kinds share
 * etcd's revision counter, so the order of two changes is known no matter how the two streams delivered them. Each
 * query replays the whole record, so that late changes still take their place.
 */
export class ReadinessLog {
  readonly #changes: Change[] = [];
  readonly #newest = new Map<string, bigint>();
  #inOrder = true;
  #from = 0n;

  /** Returns what logs of several namespaces say together: a VM is named `<place of its log>/<name>`. */
  static together(logs: readonly ReadinessLog[]): ReadinessLog {
    const all = new ReadinessLog();
    for (const [place, log] of logs.entries()) {
      if (log.#from > all.#from) all.#from = log.#from;
      for (const change of log.#changes) all.add({ ...change, name: `${place}/${change.name}` });
    }
    return all;
  }

  /** Ignores a change that is already recorded. */
  add(change: Change): void {
    const key = `${change.kind} ${change.name}`;
    const newest = this.#newest.get(key);
    if (newest !== undefined && change.version <= newest) return;
    this.#newest.set(key, change.version);
    this.#inOrder &&= (this.#changes.at(-1)?.version ?? 0n) < change.version;
    this.#changes.push(change);
  }

  /** Returns the newest version reported for the object; undefined if there is none. */
  newestOf(kind: Change['kind'], name: string): bigint | undefined {
    return this.#newest.get(`${kind} ${name}`);
  }

  /** Excludes changes up to this version from the counts; they only define the initial state. */
  beginAt(version: bigint): void {
    this.#from = version;
  }

  /** Returns the names of the existing VMs. */
  names(): string[] {
    let last: string[] = [];
    this.#replay((_change, { vms }) => (last = [...vms.keys()]));
    return last;
  }

  /**
   * Returns the first instant since the recording began at which the most VMs that were meant to run were not ready.
   * With `replicas`, VMs missing from that number count too. A VM is ready when both the VM and its VMI say so.
   */
  peak({ replicas = 0 }: { replicas?: number } = {}): Peak {
    let peak: Peak = { unavailable: 0, names: [], version: this.#from, at: 0 };
    const down = new Set<string>();
    this.#replay(({ name, version, at }, { vms, vmis }) => {
      if (isDown(vms.get(name), vmis.get(name))) down.add(name);
      else down.delete(name);
      const unavailable = down.size + Math.max(replicas - vms.size, 0);
      // Before the recording begins, only the last state matters.
      if (version <= this.#from || unavailable > peak.unavailable)
        peak = { unavailable, names: [...down].sort(), version, at };
    });
    return peak;
  }

  /** Returns the fewest VMs that were ready at once, and the most that there were, since the recording began. */
  extremes(): { fewestReady: number; mostVms: number } {
    let extremes = { fewestReady: 0, mostVms: 0 };
    this.#replay(({ version }, { vms, vmis }) => {
      const there = [...vms].filter(([, vm]) => !vm.deleting);
      const ready = there.filter(([name, vm]) => vm.ready && vmis.get(name)?.ready === true).length;
      // Before the recording begins, only the last state matters.
      extremes =
        version <= this.#from
          ? { fewestReady: ready, mostVms: vms.size }
          : { fewestReady: Math.min(extremes.fewestReady, ready), mostVms: Math.max(extremes.mostVms, vms.size) };
    });
    return extremes;
  }

  mostUnavailable(options: { replicas?: number } = {}): number {
    return this.peak(options).unavailable;
  }

  /**
   * Returns each termination of a ready VM's VMI since the recording began. Leaves out VMIs deleted with their VM, as
   * when a pool is scaled in.
   */
  departures(): RemovalCause[] {
    const departures: RemovalCause[] = [];
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

  /** Returns the total downtime of all VMs since the recording began, by the watcher's clock, in milliseconds. */
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

  /** Returns every VMI that the VM has had, oldest first. */
  vmisOf(vm: string): Vmi[] {
    return this.#vmis(vm, 0n);
  }

  /** Returns the VMIs that the VM got since the recording began: one for each restart. */
  restartsOf(vm: string): Vmi[] {
    return this.#vmis(vm, this.#from);
  }

  /**
   * Returns, for each VM, its machine type, mark and record when the recording began, and each different state since.
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

  /** Returns the VM's history, oldest first. */
  history(vm: string): Entry[] {
    const entries: Entry[] = [];
    let vmBefore: VmFacts | undefined;
    let vmiBefore: VmiFacts | undefined;
    this.#replay((change, { vms, vmis }) => {
      if (change.name !== vm) return;
      const [now, vmi] = [vms.get(vm), vmis.get(vm)];
      for (const what of [...vmWords(vmBefore, now), ...vmiWords(vmiBefore, vmi)])
        entries.push({ version: change.version, at: change.at, what });
      [vmBefore, vmiBefore] = [now, vmi];
    });
    return entries;
  }

  #vmis(vm: string, after: bigint): Vmi[] {
    const vmis = new Map<string, Vmi & { version: bigint }>();
    this.#replay((change) => {
      if (change.kind !== 'vmi' || change.name !== vm || change.facts === null) return;
      const { uid, revision } = change.facts;
      const known = vmis.get(uid);
      if (known === undefined)
        vmis.set(uid, { uid, startedWith: revision, revision, at: change.at, version: change.version });
      else known.revision = revision;
    });
    return [...vmis.values()].filter(({ version }) => version > after).map(({ version: _version, ...vmi }) => vmi);
  }

  /** Passes `visit` the state after each change. */
  #replay(visit: (change: Change, state: State) => void): void {
    if (!this.#inOrder) this.#changes.sort((a, b) => (a.version < b.version ? -1 : 1));
    this.#inOrder = true;
    const state: State = { vms: new Map(), vmis: new Map() };
    for (const change of this.#changes) {
      if (change.kind === 'vm') put(state.vms, change.name, change.facts);
      else put(state.vmis, change.name, change.facts);
      visit(change, state);
    }
  }
}

const listed = (down: ReadonlyMap<string, number>): RemovalCause['down'] =>
  [...down].map(([name, since]) => ({ name, since })).sort((a, b) => (a.name < b.name ? -1 : 1));

function put<T>(map: Map<string, T>, name: string, facts: T | null): void {
  if (facts === null) map.delete(name);
  else map.set(name, facts);
}

/** Reports whether the VM's owner wants a VMI to run now. */
export function isMeantToRun(vm: VmFacts, vmi: VmiFacts | undefined): boolean {
  if (vm.deleting) return false;
  switch (vm.strategy) {
    case 'Always':
      return true;
    case 'Once':
      return vmi === undefined || !vmi.final;
    case 'RerunOnFailure':
    case 'Manual':
      return vm.asked || (vmi !== undefined && !vmi.final && !vmi.deleting);
    default:
      return false;
  }
}

const isDown = (vm: VmFacts | undefined, vmi: VmiFacts | undefined): boolean =>
  vm !== undefined && isMeantToRun(vm, vmi) && !(vm.ready && vmi?.ready === true);

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

function vmiWords(before: VmiFacts | undefined, now: VmiFacts | undefined): string[] {
  if (now === undefined) return before === undefined ? [] : ['VMI gone'];
  const words: string[] = [];
  const fresh = before?.uid !== now.uid;
  if (fresh) words.push(`VMI ${now.uid} there with revision ${now.revision}`);
  else if (before.revision !== now.revision) words.push(`VMI has revision ${now.revision}`);
  if (now.deleting && (fresh || !before.deleting)) words.push('VMI going');
  else if (fresh ? now.ready : before.ready !== now.ready) words.push(`VMI ${now.ready ? 'ready' : 'not ready'}`);
  return words;
}
