import {
  MACHINE_TYPE_RESTART_LABEL,
  MACHINE_TYPE_TRANSITION_ANNOTATION,
  REMOVING_ANNOTATION,
} from '../../../api/labels-and-annotations.ts';
import { controllerOf, type Stored } from '../../../api/objects.ts';
import {
  KubeVirtPools,
  VirtualMachineInstances,
  VirtualMachinePools,
  VirtualMachines,
} from '../../../api/resources.ts';
import { changesOf } from '../../../decisions/changes/change-record.ts';
import { canonical } from '../../../decisions/lib/canonical-json.ts';
import { field } from '../../../decisions/lib/json.ts';
import { membershipChangeOf } from '../../../decisions/membership/change.ts';
import { namedAdoptions, namedAmong } from '../../../decisions/views/annotations/named-vms.ts';
import type { VirtualMachine, VirtualMachineInstance } from '../../../simulator/objects/kubevirt.ts';
import { resolveMachineType } from '../../../simulator/vm/machine-type.ts';
import {
  activityNow,
  inputOf,
  isByWorker,
  isDeletion,
  isGoing,
  isReady,
  runNow,
  runs,
  transitionInputOf,
} from '../facts.ts';
import type { Watched } from '../readings.ts';
import type { Write } from '../world/api-server.ts';
import type { Call } from '../world/model-client.ts';
import { Check } from './check.ts';

/** Of a run that starts, stops or restarts VMs, which users start. */
const OF_POWER = 'changePower';
/** Takes drover's labels off a VM that has left its pool. */
const OF_LABELS = 'unlabelVms';
/** By which a set becomes the controller of VMs that match its selector. */
const OF_SETS = 'adoptVms';
/** By which a pool gets VMs back from a backup: `ReturnedVmGuarantees` checks which. */
const OF_RESTORES = 'adoptReturnedVms';
/** By which a pool gets VMs that users want in it, and gives its own to a KubeVirt pool. */
const OF_REQUESTS: readonly unknown[] = ['changeMembers', 'adoptNamedVms'];
/** Activities that may change VMs that no pool has. */
const OF_ANY_VM = [OF_POWER, OF_LABELS, OF_SETS, OF_RESTORES];
/** Activities of machine type transitions, which users start, and which may change VMs of any owner. */
const VM_FIELDS_OF_TRANSITIONS = ['patchMachineTypes', 'followTransition', 'clearTransitionLabels'];

/** A VM that has left a pool that is deleted without its VMs, with a mark by which the next pool would delete it. */
const isUnmarked = (activity: string | null, vm: Stored): boolean =>
  activity === 'releaseVms' && vm.metadata.annotations?.[REMOVING_ANNOTATION] !== undefined;

const isOutOfScope = (activity: string | null, vm: Stored): boolean =>
  !OF_ANY_VM.includes(activity ?? '') && controllerOf(vm) === undefined && !isUnmarked(activity, vm);

/** What users may change of a VM. */
const textOf = ({ metadata: { labels }, spec }: Stored & { spec?: unknown }): string => canonical([labels, spec]);

/** A ready VMI that a run has deleted, until its VM is back. */
interface Down {
  run: string;
  name: string;
  vmi: string;
}

/**
 * Checks each write of a worker against the guarantees about runs that users start: restarts, and machine type
 * transitions.
 */
export class RunGuarantees extends Check<Watched> {
  /** By UID of the VM. */
  readonly #down = new Map<string, Down>();
  /** By run and UID of the VM: what runs that start, stop or restart VMs have done. */
  readonly #acts = new Set<string>();

  onWrite({ resource, before, after }: Write, call: Call | null): void {
    // A VM that has come back may go down again for another cause before the run takes the next one.
    if (resource === VirtualMachineInstances && this.#down.size > 0) this.#forgetThoseBack();
    if (before === undefined || !isByWorker(call)) return;
    if (resource === VirtualMachines) this.#checkScope(before);
    if (resource === VirtualMachines && after !== undefined) this.#checkChange(before, after);
    if (resource === VirtualMachines && after !== undefined && powerOf(before) !== powerOf(after))
      this.#checkOnce(after);
    if (resource !== VirtualMachineInstances || !isDeletion(before, after)) return;
    const vm = this.world.vm(before.metadata.name) as (Stored & VirtualMachine) | undefined;
    if (vm === undefined) return;
    this.#checkScope(vm);
    this.#checkOnce(vm);
    this.#checkNeed(vm, before as Stored<VirtualMachineInstance>);
    // Only VMs that were ready count against the limit.
    if (isReady(before as Stored<VirtualMachineInstance>)) this.#checkLimit(vm, before.metadata.uid);
  }

  /**
   * Checks that a VM without a pool is changed only by a run that users started, or loses the labels or the mark of
   * the pool that it has left, and never by a transition that excludes it.
   */
  #checkScope(vm: Stored): void {
    const activity = activityNow();
    const { name } = vm.metadata;
    const run = runNow();
    const transition =
      run === undefined ? undefined : transitionInputOf(this.world.temporal.runs.get(run)!)?.transition;
    if (activity !== null && VM_FIELDS_OF_TRANSITIONS.includes(activity)) {
      if (transition?.scope.exclude.includes(name) === true)
        this.broken('G4', `${name} is changed by ${activity}, and was left out`);
    } else if (OF_REQUESTS.includes(activity) ? !this.#isAskedFor(vm) : isOutOfScope(activity, vm)) {
      this.broken('G4', `${name} is written by ${activity}, and is no pool's`);
    }
  }

  /** Whether users want just this VM in a pool, or have asked for all VMs of its owner. */
  #isAskedFor(vm: Stored): boolean {
    const owner = controllerOf(vm);
    return this.world.server.all(VirtualMachinePools).some((pool) => {
      const change = membershipChangeOf(pool);
      const kind = change === null || change === 'unreadable' ? null : change.kind;
      const isTheirs = owner?.name === pool.metadata.name && owner.apiVersion.startsWith(KubeVirtPools.group);
      if (kind === 'takeover' && isTheirs) return true;
      if (kind === 'release' && owner?.uid === pool.metadata.uid) return true;
      return owner === undefined && namedAmong(namedAdoptions(pool.metadata.annotations))(vm.metadata);
    });
  }

  /** Checks that a run starts, stops or restarts a VM once, whatever users do to the VM meanwhile. */
  #checkOnce({ metadata: { name, uid } }: Stored): void {
    if (activityNow() !== OF_POWER) return;
    const act = `${runNow()} ${uid}`;
    if (this.#acts.has(act)) this.broken('G10', `${runNow()} has acted on ${name} twice`);
    this.#acts.add(act);
  }

  /** Checks that a run changes only VMs without a template, each once, and tells on it what it has changed. */
  #checkChange(before: Stored, after: Stored): void {
    if (activityNow() !== OF_POWER || textOf(before) === textOf(after)) return;
    const { name, uid } = after.metadata;
    const [was, is] = [before, after].map(({ metadata }) => changesOf(metadata.annotations)[0]?.id);
    if (powerOf(before) !== powerOf(after)) return;
    if (is === undefined || is === was) this.broken('G38', `${runNow()} changes ${name}, and does not tell`);
    if (controllerOf(before) !== undefined) this.broken('G38', `${runNow()} changes ${name}, whose template says it`);
    const act = `${runNow()} changes ${uid}`;
    if (this.#acts.has(act)) this.broken('G38', `${runNow()} has changed ${name} twice`);
    this.#acts.add(act);
  }

  /** Checks that a VM is restarted for its machine type only if its VMI has another one. */
  #checkNeed(vm: Stored & VirtualMachine, vmi: Stored<VirtualMachineInstance>): void {
    if (activityNow() !== 'followTransition') return;
    const wanted = resolveMachineType(vm.spec.template.spec.domain.machine?.type ?? '', undefined);
    const type = vmi.status?.machine?.type;
    if (type === wanted)
      this.broken('G4', `${vm.metadata.name} is restarted for its machine type, and its VMI has ${type} already`);
  }

  /** Checks that a run has not taken down more VMs at once than it may. */
  #checkLimit(vm: Stored, vmi: string): void {
    const run = runNow();
    const most = run === undefined ? undefined : this.#limitOf(run);
    if (run === undefined || most === undefined) return;
    this.#down.set(vm.metadata.uid, { run, name: vm.metadata.name, vmi });
    const names = [...this.#down.values()].filter((down) => down.run === run).map(({ name }) => name);
    if (names.length > most)
      this.broken('G9', `${run} has taken down ${names.toSorted().join(', ')}, of at most ${most}`);
  }

  #limitOf(run: string): number | undefined {
    const input = inputOf(this.world.temporal.runs.get(run)!);
    if (input?.action === 'MachineType') return input.transition.maxRestarts as number;
    return input?.atOnce;
  }

  /** Forgets VMs that are back, and those that are no longer meant to run. */
  #forgetThoseBack(): void {
    for (const [uid, { name, vmi }] of this.#down) {
      const vm = this.world.vm(name);
      const live = this.world.vmi(name);
      const isOver = vm === undefined || vm.metadata.uid !== uid || isGoing(vm) || !runs(vm);
      if (isOver || (isReady(live) && live?.metadata.uid !== vmi)) this.#down.delete(uid);
    }
  }
}

/** What a request to start, stop or restart a VM changes. */
const powerOf = (vm: Stored): string =>
  JSON.stringify([field(vm['spec'], 'runStrategy'), field(vm['status'], 'stateChangeRequests') ?? []]);

const typeOf = (vm: Stored): string =>
  JSON.stringify(field(vm['spec'], 'template', 'spec', 'domain', 'machine', 'type') ?? null);

/** Checks that machine type transitions do to each VM and pool no more than they have to (G4). */
export class TransitionGuarantees extends Check<Watched> {
  /** How often transitions have changed VMs and pools, by transition and UID; without those changed by others since. */
  readonly #changed = new Map<string, Set<string>>();
  /** The types that VMs had before a transition first changed them, by transition and VM. */
  readonly #types = new Map<string, string>();
  /** UIDs of the VMIs that transitions have restarted, by transition and VM. */
  readonly #restarted = new Map<string, string>();

  onWrite({ resource, before, after }: Write, call: Call | null): void {
    if (before === undefined || after === undefined || !isByWorker(call)) {
      if (resource === VirtualMachines && before !== undefined && after !== undefined) this.#noteOthers(before, after);
      return this.#checkRestart(resource === VirtualMachineInstances ? before : undefined, after, call);
    }
    const activity = activityNow();
    if (resource === VirtualMachines && activity === 'patchMachineTypes' && typeOf(before) !== typeOf(after))
      this.#checkChange(before, after);
    if (resource === VirtualMachines && activity !== 'patchMachineTypes') this.#noteOthers(before, after);
    if (resource === VirtualMachineInstances) this.#checkRestart(before, after, call);
  }

  /** What another client has changed may be changed again. */
  #noteOthers(before: Stored, after: Stored): void {
    const hasRecord = after.metadata.annotations?.[MACHINE_TYPE_TRANSITION_ANNOTATION] !== undefined;
    if (typeOf(before) === typeOf(after) && hasRecord) return;
    for (const uids of this.#changed.values()) uids.delete(after.metadata.uid);
  }

  #checkChange(before: Stored, after: Stored): void {
    const run = runNow()!;
    const { uid, name } = after.metadata;
    this.#checkOnce(after, 'changed');
    const key = (id: string): string => `${id} ${uid}`;
    if (!this.#types.has(key(run))) this.#types.set(key(run), typeOf(before));
    const { transition } = transitionInputOf(this.world.temporal.runs.get(run)!)!;
    const { undoes } = transition.scope;
    if (undoes === null) return;
    const undone = key([...this.world.temporal.runs.keys()].find((id) => id.endsWith(`/${undoes}`)) ?? undoes);
    if (typeOf(after) !== this.#types.get(undone))
      this.broken('G4', `${name} gets ${typeOf(after)} by ${run}, and had ${this.#types.get(undone)} before`);
  }

  #checkOnce({ metadata: { uid, name } }: Stored, what: string): void {
    const run = runNow()!;
    const uids = this.#changed.get(run) ?? new Set();
    if (uids.has(uid)) this.broken('G4', `${name} is ${what} twice by ${run}`);
    this.#changed.set(run, uids.add(uid));
  }

  #checkRestart(before: Stored | undefined, after: Stored | undefined, call: Call | null): void {
    if (before === undefined || !isByWorker(call) || !isDeletion(before, after)) return;
    const run = runNow();
    if (activityNow() !== 'followTransition' || run === undefined) return;
    const { name, uid } = before.metadata;
    const { transition } = transitionInputOf(this.world.temporal.runs.get(run)!)!;
    if (!transition.restartNow) this.broken('G4', `${run} restarts ${name}, which it leaves to its owner`);
    const key = `${run} ${this.world.vm(name)?.metadata.uid}`;
    const earlier = this.#restarted.get(key);
    if (earlier !== undefined && earlier !== uid) this.broken('G4', `${name} is restarted twice by ${run}`);
    this.#restarted.set(key, uid);
  }

  /** Checks that a transition that has ended by itself has left no mark. */
  checkEnd(): void {
    for (const run of this.world.temporal.runs.values()) {
      const { id, isOpen, status } = run;
      if (isOpen || status !== 'COMPLETED' || transitionInputOf(run) === undefined) continue;
      const mark = id.split('/').at(-1);
      for (const { metadata } of this.world.vms)
        if (metadata.labels?.[MACHINE_TYPE_RESTART_LABEL] === mark)
          this.broken('G4', `${metadata.name} has the mark of ${id}, which has ended`);
    }
  }
}
