import { DO_NOT_DISRUPT_ANNOTATION, REVISION_LABEL } from '../../../api/names.ts';
import type { VmTemplate } from '../../../api/pool/pool.ts';
import { field } from '../../../decisions/lib/json.ts';
import { mergeVm } from '../../../decisions/merge/vm.ts';
import { vmFromTemplate, type NewVirtualMachine } from '../../../decisions/pool/vm-from-template.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import { powerOf } from '../../../decisions/views/run-strategy.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import { isFinal, type VmiView } from '../../../decisions/views/vmi.ts';
import type { Clock } from './clock.ts';
import { aVm, aVmi } from './fleets.ts';

/** The API server rejected a write: the object has changed since it was read, or does not exist. */
export class Refused extends Error {}

export interface KubeVirtOptions {
  clock: Clock;
  pool: StoredPool;
  strategy: 'Stage' | 'LiveUpdate';
  /** The probability (0 to 1) that a VMI started from this revision never becomes ready. */
  failing: (revision: string) => number;
}

interface Guest {
  view: VmiView;
  /** The cores, which only a start can change. */
  cores: unknown;
  /** The guest has booted: it is ready unless something prevents it. */
  isUp: boolean;
  /** `wasReady`: it was ready when a person paused it. `isResuming`: it was unpaused, and is not ready again yet. */
  wasReady: boolean;
  isResuming: boolean;
}

/** A VM and what KubeVirt knows about it. */
export interface Machine {
  readonly number: number;
  object: NewVirtualMachine;
  view: VmView;
  guest: Guest | undefined;
  /** KubeVirt's stateChangeRequests; `guest` is the UID of the VMI to stop. */
  requests: ({ action: 'Start' } | { action: 'Stop'; guest: string })[];
  /** How a person stopped the VM, unless it has been started since. */
  stopped: 'by spec' | 'by request' | null;
  stoppedAt: number;
  /** KubeVirt does not start the VM before this time, in milliseconds since the epoch. */
  heldBack: number;
  crashes: number;
  /** Consecutive starts that failed before the guest ran. */
  startFailures: number;
  /** VMIs that ran and then failed, oldest first. */
  failedGuests: VmiView[];
  /** The run strategy that KubeVirt last saw. */
  knownStrategy: string | undefined;
  isDue: boolean;
}

export type Change = { at: number; version: number; name: string } & (
  | { kind: 'vm'; view: VmView | undefined }
  | { kind: 'vmi'; view: VmiView | undefined }
);

/**
 * An in-memory cluster with one pool. VMIs come and go as with KubeVirt, each step a little later than its cause. Its
 * methods are the calls and actions of drover and of people.
 */
export class ModelKubeVirt {
  readonly machines = new Map<string, Machine>();
  /** All watch events, in order. */
  readonly changes: Change[] = [];
  pool: StoredPool;
  onChange: () => void = () => {};
  /** Called with each VMI that starts. */
  onStart: (vm: VmView, guest: VmiView) => void = () => {};
  readonly #clock: Clock;
  readonly #options: KubeVirtOptions;
  #version = 0;
  #uids = 0;

  constructor(options: KubeVirtOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.pool = options.pool;
  }

  get version(): number {
    return this.#version;
  }

  // Calls by drover.

  create(number: number, template: VmTemplate, halted = false): void {
    const object = vmFromTemplate(this.pool, template, number);
    if (halted) object.spec = { ...object.spec, running: undefined, runStrategy: 'Halted' };
    const { name } = object.metadata;
    if (this.machines.has(name)) return;
    const uid = `vm-${++this.#uids}`;
    const machine: Machine = {
      number,
      object,
      view: aVm(name, { uid, resourceVersion: '', createdAt: this.#clock.now, hasVmi: false, ready: false, state: '' }),
      guest: undefined,
      requests: [],
      stopped: halted ? 'by spec' : null,
      stoppedAt: this.#clock.now,
      heldBack: 0,
      crashes: 0,
      startFailures: 0,
      failedGuests: [],
      knownStrategy: undefined,
      isDue: false,
    };
    this.machines.set(name, machine);
    this.#note(machine);
    this.#touch(machine);
  }

  /** Brings the VM to another template. Throws `Refused` if the VM has changed since it was `read`. */
  write(name: string, read: VmView, base: VmTemplate | undefined, target: VmTemplate): void {
    const machine = this.#get(name, read.uid);
    if (machine.view.resourceVersion !== read.resourceVersion) throw new Refused(`${name} has changed`);
    const made = (template: VmTemplate): NewVirtualMachine => vmFromTemplate(this.pool, template, machine.number);
    machine.object = mergeVm(machine.object, base === undefined ? null : made(base), made(target));
    this.#note(machine);
    this.#touch(machine);
  }

  deleteVm(name: string, uid: string, version?: string): void {
    const machine = this.#get(name, uid, version);
    this.#note(machine, { deleting: true });
    this.#touch(machine);
  }

  /** Halts a VM that leaves its pool, and keeps its disks. */
  letLeave(name: string, uid: string, version?: string): void {
    const machine = this.#get(name, uid, version);
    this.#power(machine, 'Halted');
    this.#note(machine, { removing: true });
    this.#touch(machine);
  }

  /** Records that the VM has run well. */
  mark(name: string, uid: string): void {
    this.#note(this.#get(name, uid), { notYetRun: null });
  }

  /** Returns false if the VMI with this UID no longer exists. */
  deleteVmi(name: string, uid: string): boolean {
    const machine = this.machines.get(name);
    if (machine?.guest?.view.uid !== uid) return false;
    this.#stop(machine);
    return true;
  }

  /** Returns false if the VM is already being started or stopped. Throws `Refused` if it can't be restarted. */
  restart(name: string): boolean {
    const machine = this.#get(name);
    if (machine.requests.length > 0) return false;
    const { guest } = machine;
    if (guest === undefined || machine.view.runStrategy === 'Halted' || machine.view.runStrategy === 'Once')
      throw new Refused(`${name} can't be restarted`);
    machine.requests = [{ action: 'Stop', guest: guest.view.uid }, { action: 'Start' }];
    this.#note(machine);
    this.#touch(machine);
    return true;
  }

  label(name: string, vmiUid: string, revision: string): void {
    const machine = this.machines.get(name);
    if (machine?.guest?.view.uid === vmiUid) this.#noteGuest(machine, { revision });
  }

  // Actions of people, and accidents.

  stop(machine: Machine): void {
    machine.stoppedAt = this.#clock.now;
    const { runStrategy } = machine.view;
    if (runStrategy === 'Always' || runStrategy === 'Once') {
      this.#power(machine, 'Halted');
      machine.stopped = 'by spec';
    } else if (isLive(machine.guest)) {
      machine.requests = [{ action: 'Stop', guest: machine.guest!.view.uid }];
      machine.stopped = 'by request';
    }
    this.#note(machine);
    this.#touch(machine);
  }

  start(machine: Machine): void {
    const { runStrategy } = machine.view;
    if (isLive(machine.guest) || machine.guest?.view.deleting === true || machine.requests.length > 0) return;
    if (runStrategy === 'Halted') this.#power(machine, 'Always');
    else if (runStrategy === 'Manual' || runStrategy === 'RerunOnFailure') machine.requests = [{ action: 'Start' }];
    else return;
    machine.stopped = null;
    machine.heldBack = 0;
    this.#note(machine);
    this.#touch(machine);
  }

  crash(machine: Machine): void {
    if (!isLive(machine.guest)) return;
    this.#noteGuest(machine, {
      phase: 'Failed',
      ready: false,
      paused: false,
      migrating: false,
      endedAt: this.#clock.now,
    });
    const { view } = machine.guest!;
    if (view.runningSince === null) machine.startFailures++;
    else machine.failedGuests.push(view);
    this.#touch(machine);
  }

  shutDown(machine: Machine): void {
    if (!isLive(machine.guest)) return;
    this.#noteGuest(machine, { phase: 'Succeeded', ready: false, paused: false, migrating: false });
    this.#touch(machine);
  }

  /** Makes the VMI not ready for `ms` milliseconds. It recovers by itself. */
  stumble(machine: Machine, ms: number): void {
    const { guest } = machine;
    if (guest?.view.ready !== true) return;
    this.#noteGuest(machine, { ready: false, readySince: this.#clock.now });
    this.#touch(machine);
    this.#clock.in(ms, () => this.#becomeReady(machine, guest));
  }

  pause(machine: Machine, paused: boolean): void {
    if (machine.guest?.view.phase !== 'Running' || machine.guest.view.paused === paused) return;
    const { guest } = machine;
    if (paused) guest.wasReady = guest.view.ready;
    guest.isResuming = !paused && guest.wasReady;
    this.#noteGuest(machine, { paused, ready: false, ...(guest.view.ready ? { readySince: this.#clock.now } : {}) });
    this.#touch(machine);
    // The pod must become ready first.
    if (!paused && guest.isUp) this.#clock.in(this.#clock.between(50, 500), () => this.#becomeReady(machine, guest));
  }

  migrate(machine: Machine, migrating: boolean): void {
    if (machine.guest?.view.phase !== 'Running') return;
    this.#noteGuest(machine, { migrating });
    this.#touch(machine);
  }

  optOut(machine: Machine, optedOut: boolean): void {
    const { annotations, ...metadata } = machine.object.metadata;
    const { [DO_NOT_DISRUPT_ANNOTATION]: _asked, ...others } = annotations ?? {};
    const asked = optedOut ? { [DO_NOT_DISRUPT_ANNOTATION]: 'true' } : {};
    machine.object = { ...machine.object, metadata: { ...metadata, annotations: { ...others, ...asked } } };
    this.#note(machine);
  }

  snapshot(machine: Machine, snapshotting: boolean): void {
    // When the snapshot is done, the VM may be deleted, and another may have its name.
    if (this.machines.get(machine.view.name) === machine) this.#note(machine, { snapshotting });
  }

  /** Takes the VM out of its pool. */
  detach(machine: Machine): void {
    this.#note(machine, { owner: null });
  }

  // Actions of KubeVirt.

  #touch(machine: Machine): void {
    if (machine.isDue) return;
    machine.isDue = true;
    this.#clock.in(this.#clock.between(1, 30), () => {
      machine.isDue = false;
      this.#reconcile(machine);
    });
  }

  #reconcile(machine: Machine): void {
    if (this.machines.get(machine.view.name) !== machine) return;
    const { view, guest } = machine;
    if (view.deleting) {
      if (guest !== undefined) this.#stop(machine);
      else this.#remove(machine);
      return;
    }
    machine.requests = machine.requests.slice(outstanding(machine));
    switch (this.#nextStep(machine)) {
      case 'start':
        this.#begin(machine);
        break;
      case 'stop':
        this.#stop(machine);
        break;
      case 'request-start':
        machine.requests.push({ action: 'Start' });
        this.#stop(machine);
        break;
      case 'wait':
        this.#clock.in(machine.heldBack - this.#clock.now, () => this.#touch(machine));
        break;
      case 'nothing':
        this.#liveUpdate(machine);
    }
    machine.requests = machine.requests.slice(outstanding(machine));
    machine.knownStrategy = view.runStrategy;
    this.#note(machine, this.#status(machine));
  }

  #nextStep({
    view,
    guest,
    requests,
    heldBack,
    knownStrategy,
  }: Machine): 'start' | 'stop' | 'request-start' | 'wait' | 'nothing' {
    const [first] = requests;
    const asksToStart = first?.action === 'Start';
    const asksToStop = first?.action === 'Stop' && first.guest === guest?.view.uid;
    const start = heldBack > this.#clock.now ? 'wait' : 'start';
    if (guest?.view.deleting === true) return 'nothing';
    switch (view.runStrategy) {
      case 'Always':
        return guest === undefined ? start : asksToStop || isFinal(guest.view) ? 'stop' : 'nothing';
      case 'Once':
        return guest === undefined ? 'start' : 'nothing';
      case 'Manual':
        if (guest === undefined) return asksToStart ? 'start' : 'nothing';
        return asksToStop ? 'stop' : 'nothing';
      case 'RerunOnFailure':
        if (guest === undefined) return asksToStart || knownStrategy !== 'RerunOnFailure' ? start : 'nothing';
        if (guest.view.phase === 'Failed') return asksToStart || asksToStop ? 'stop' : 'request-start';
        return asksToStop || isFinal(guest.view) ? 'stop' : 'nothing';
      default:
        return guest === undefined ? 'nothing' : 'stop';
    }
  }

  #begin(machine: Machine): void {
    const { view, object } = machine;
    const domain = field(object.spec, 'template', 'spec', 'domain');
    const sockets = Number(field(domain, 'cpu', 'sockets') ?? 1);
    const guest: Guest = {
      cores: field(domain, 'cpu', 'cores'),
      isUp: false,
      wasReady: false,
      isResuming: false,
      view: aVmi(view, {
        uid: `vmi-${++this.#uids}`,
        createdAt: this.#clock.now,
        phase: 'Scheduling',
        scheduledAt: this.#clock.now,
        runningSince: null,
        ready: false,
        readySince: this.#clock.now,
        revision: view.revision,
        cpu: { sockets, maxSockets: 2, current: sockets },
      }),
    };
    machine.guest = guest;
    machine.stopped = null;
    this.#noteGuest(machine, {});
    this.onStart(view, guest.view);
    const fails = this.#clock.chance() < this.#options.failing(view.revision ?? '');
    this.#clock.in(this.#clock.between(50, 3_000), () => {
      if (machine.guest !== guest || !isLive(guest)) return;
      if (!fails) return this.#becomeReady(machine, guest);
      // Some VMIs crash a few times before they hang: with an endless crash loop, the model would not end.
      if (machine.crashes++ < 2 && this.#clock.chance() < 0.5) return this.crash(machine);
      machine.startFailures = 0;
      this.#noteGuest(machine, { phase: 'Running', runningSince: this.#clock.now });
      this.#touch(machine);
    });
  }

  #becomeReady(machine: Machine, guest: Guest): void {
    if (machine.guest !== guest || !isLive(guest) || guest.view.paused || guest.view.ready) return;
    machine.startFailures = 0;
    guest.isUp = true;
    guest.isResuming = false;
    const { now } = this.#clock;
    this.#noteGuest(machine, {
      phase: 'Running',
      ready: true,
      readySince: now,
      runningSince: guest.view.runningSince ?? now,
    });
    this.#touch(machine);
  }

  #stop(machine: Machine): void {
    const guest = machine.guest!;
    if (guest.view.deleting) return;
    if (guest.view.phase === 'Failed') machine.heldBack = this.#clock.now + 1_000;
    this.#noteGuest(machine, { deleting: true, migrating: false });
    this.#clock.in(this.#clock.between(10, 500), () => {
      if (machine.guest !== guest) return;
      machine.guest = undefined;
      this.#tell({ kind: 'vmi', name: machine.view.name, view: undefined });
      this.#touch(machine);
    });
  }

  /** Hotplugs sockets if nothing else has changed and the VMI has room for them; otherwise a restart is required. */
  #liveUpdate(machine: Machine): void {
    const { guest, object } = machine;
    if (guest === undefined || !isLive(guest)) return;
    const domain = field(object.spec, 'template', 'spec', 'domain');
    const sockets = Number(field(domain, 'cpu', 'sockets') ?? 1);
    const now = guest.view.cpu.sockets!;
    if (field(domain, 'cpu', 'cores') !== guest.cores) return this.#restartRequired(machine, 'cores');
    if (sockets === now) return this.#restartRequired(machine, null);
    if (this.#options.strategy === 'Stage') return this.#restartRequired(machine, 'sockets, and KubeVirt stages them');
    // KubeVirt may also refuse for reasons that can't be foreseen.
    if (sockets < now || sockets > guest.view.cpu.maxSockets! || this.#clock.chance() < 0.3)
      return this.#restartRequired(machine, 'sockets');
    this.#restartRequired(machine, null);
    this.#noteGuest(machine, { cpu: { ...guest.view.cpu, sockets }, migrating: true });
    this.#clock.in(this.#clock.between(100, 1_000), () => {
      if (machine.guest !== guest || !isLive(guest)) return;
      this.#noteGuest(machine, { cpu: { ...guest.view.cpu, current: guest.view.cpu.sockets }, migrating: false });
      this.#touch(machine);
    });
  }

  #restartRequired(machine: Machine, what: string | null): void {
    const restartRequired =
      what === null ? null : (machine.view.restartRequired ?? { since: this.#clock.now, why: `${what} changed` });
    if (restartRequired !== machine.view.restartRequired) this.#note(machine, { restartRequired });
  }

  #status({ view, guest, heldBack, startFailures }: Machine): Partial<VmView> {
    let state = 'Stopped';
    if (guest?.view.deleting === true) state = 'Stopping';
    else if (guest?.view.phase === 'Running')
      state = guest.view.migrating ? 'Migrating' : guest.view.paused ? 'Paused' : 'Running';
    else if (isLive(guest)) state = 'Starting';
    else if (heldBack > this.#clock.now && view.runStrategy !== 'Halted') state = 'CrashLoopBackOff';
    const restartRequired = isLive(guest) ? view.restartRequired : null;
    return { hasVmi: guest !== undefined, ready: guest?.view.ready ?? false, state, restartRequired, startFailures };
  }

  #remove(machine: Machine): void {
    this.machines.delete(machine.view.name);
    this.#tell({ kind: 'vm', name: machine.view.name, view: undefined });
  }

  #power(machine: Machine, runStrategy: string): void {
    const { running: _running, ...spec } = machine.object.spec;
    machine.object = { ...machine.object, spec: { ...spec, runStrategy } };
  }

  #get(name: string, uid?: string, version?: string): Machine {
    const machine = this.machines.get(name);
    if (machine === undefined || (uid !== undefined && machine.view.uid !== uid))
      throw new Refused(`${name} is not there`);
    if (version !== undefined && machine.view.resourceVersion !== version) throw new Refused(`${name} has changed`);
    return machine;
  }

  /** Emits the VM as it is now, if it differs from what was last emitted. */
  #note(machine: Machine, fields: Partial<VmView> = {}): void {
    const { view, object } = machine;
    const next: VmView = {
      ...view,
      labels: object.metadata.labels,
      revision: object.metadata.labels[REVISION_LABEL] ?? null,
      runStrategy: powerOf(object.spec) ?? 'Halted',
      optedOut: object.metadata.annotations?.[DO_NOT_DISRUPT_ANNOTATION] === 'true',
      changingState: machine.requests.length > 0,
      ...fields,
    };
    next.notReadySince = next.ready ? null : (view.notReadySince ?? this.#clock.now);
    if (view.resourceVersion !== '' && (Object.keys(next) as (keyof VmView)[]).every((key) => next[key] === view[key]))
      return;
    machine.view = { ...next, resourceVersion: String(this.#version + 1) };
    this.#tell({ kind: 'vm', name: view.name, view: machine.view });
  }

  #noteGuest(machine: Machine, fields: Partial<VmiView>): void {
    const guest = machine.guest!;
    guest.view = { ...guest.view, ...fields, resourceVersion: String(this.#version + 1) };
    this.#tell({ kind: 'vmi', name: machine.view.name, view: guest.view });
  }

  #tell(
    change:
      | { kind: 'vm'; name: string; view: VmView | undefined }
      | { kind: 'vmi'; name: string; view: VmiView | undefined },
  ): void {
    this.changes.push({ ...change, at: this.#clock.now, version: ++this.#version });
    this.onChange();
  }
}

/** Reports whether the VMI is running or starting. */
export const isLive = (guest: { view: VmiView } | undefined): boolean =>
  guest !== undefined && !guest.view.deleting && !isFinal(guest.view);

/** Returns the index of a VM's first request that has not been carried out. */
function outstanding({ requests, guest }: Machine): number {
  const first = requests.findIndex((request) =>
    request.action === 'Stop' ? request.guest === guest?.view.uid : !isLive(guest),
  );
  return first === -1 ? requests.length : first;
}

/** One worker's cache of the cluster. It follows the changes of each kind separately, and with a delay. */
export class Picture {
  readonly vms = new Map<string, VmView>();
  readonly vmis = new Map<string, VmiView>();
  readonly #cluster: ModelKubeVirt;
  #vm = 0;
  #vmi = 0;

  constructor(cluster: ModelKubeVirt) {
    this.#cluster = cluster;
  }

  /** Applies all changes up to the time `before`, and all changes up to `version`. */
  catchUp(kind: 'vm' | 'vmi', before: number, version: number): void {
    const { changes } = this.#cluster;
    let cursor = kind === 'vm' ? this.#vm : this.#vmi;
    for (; cursor < changes.length; cursor++) {
      const change = changes[cursor]!;
      if (change.at > before && change.version > version) break;
      if (change.kind !== kind) continue;
      const views = (kind === 'vm' ? this.vms : this.vmis) as Map<string, unknown>;
      if (change.view === undefined) views.delete(change.name);
      else views.set(change.name, change.view);
    }
    if (kind === 'vm') this.#vm = cursor;
    else this.#vmi = cursor;
  }

  ownedBy(uid: string): VmView[] {
    return [...this.vms.values()].filter((vm) => vm.owner?.uid === uid);
  }

  readonly vmiOf = (vm: VmView): VmiView | undefined => {
    const vmi = this.vmis.get(vm.name);
    return vmi?.vmUid === vm.uid ? vmi : undefined;
  };
}
