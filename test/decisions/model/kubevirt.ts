import { DO_NOT_DISRUPT_ANNOTATION, REVISION_LABEL } from '../../../api/names.ts';
import type { VmTemplate } from '../../../api/pool/pool.ts';
import { field } from '../../../decisions/lib/json.ts';
import { mergeVm } from '../../../decisions/merge/vm.ts';
import { vmFromTemplate, type NewVirtualMachine } from '../../../decisions/template/vm-from-template.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import { powerOf } from '../../../decisions/views/run-strategy.ts';
import type { MemberRole, VmView } from '../../../decisions/views/vm.ts';
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

interface Vmi {
  view: VmiView;
  /** The cores, which only a start can change. */
  cores: unknown;
  /** The VMI has booted: it is ready unless something prevents it. */
  isUp: boolean;
  /** `wasReady`: it was ready when a person paused it. `isResuming`: it was unpaused, and is not ready again yet. */
  wasReady: boolean;
  isResuming: boolean;
}

/** A VM and what KubeVirt knows about it. */
export interface ModelVm {
  readonly number: number;
  object: NewVirtualMachine;
  view: VmView;
  vmi: Vmi | undefined;
  /** KubeVirt's stateChangeRequests; `vmi` is the UID of the VMI to stop. */
  requests: ({ action: 'Start' } | { action: 'Stop'; vmi: string })[];
  /** How a person stopped the VM, unless it has been started since. */
  stopped: 'by spec' | 'by request' | null;
  stoppedAt: number;
  /** KubeVirt does not start the VM before this time, in milliseconds since the epoch. */
  heldBack: number;
  crashes: number;
  /** Consecutive starts that failed before the VMI ran. */
  startFailures: number;
  /** VMIs that ran and then failed, oldest first. */
  failedVmis: VmiView[];
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
  readonly modelVms = new Map<string, ModelVm>();
  /** All watch events, in order. */
  readonly changes: Change[] = [];
  pool: StoredPool;
  onChange: () => void = () => {};
  /** Called with each VMI that starts. */
  onStart: (vm: VmView, vmi: VmiView) => void = () => {};
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

  create(number: number, template: VmTemplate, halted = false, role: MemberRole | null = null): void {
    const object = vmFromTemplate(this.pool, template, number, role);
    if (halted) object.spec = { ...object.spec, running: undefined, runStrategy: 'Halted' };
    const { name } = object.metadata;
    if (this.modelVms.has(name)) return;
    const uid = `vm-${++this.#uids}`;
    const modelVm: ModelVm = {
      number,
      object,
      view: aVm(name, {
        uid,
        role,
        resourceVersion: '',
        createdAt: this.#clock.now,
        hasVmi: false,
        ready: false,
        state: '',
      }),
      vmi: undefined,
      requests: [],
      stopped: halted ? 'by spec' : null,
      stoppedAt: this.#clock.now,
      heldBack: 0,
      crashes: 0,
      startFailures: 0,
      failedVmis: [],
      knownStrategy: undefined,
      isDue: false,
    };
    this.modelVms.set(name, modelVm);
    this.#note(modelVm);
    this.#touch(modelVm);
  }

  /** Brings the VM to another template. Throws `Refused` if the VM has changed since it was `read`. */
  write(name: string, read: VmView, base: VmTemplate | undefined, target: VmTemplate): void {
    const modelVm = this.#get(name, read.uid);
    if (modelVm.view.resourceVersion !== read.resourceVersion) throw new Refused(`${name} has changed`);
    const made = (template: VmTemplate): NewVirtualMachine => vmFromTemplate(this.pool, template, modelVm.number);
    modelVm.object = mergeVm(modelVm.object, base === undefined ? null : made(base), made(target));
    this.#note(modelVm);
    this.#touch(modelVm);
  }

  deleteVm(name: string, uid: string, version?: string): void {
    const modelVm = this.#get(name, uid, version);
    this.#note(modelVm, { deleting: true, leavingSince: this.#clock.now });
    this.#touch(modelVm);
  }

  /** Halts a VM that leaves its pool, and keeps its disks. */
  letLeave(name: string, uid: string, version?: string): void {
    const modelVm = this.#get(name, uid, version);
    this.#power(modelVm, 'Halted');
    this.#note(modelVm, { removing: true, leavingSince: this.#clock.now });
    this.#touch(modelVm);
  }

  /** Records that the VM has run well. */
  mark(name: string, uid: string): void {
    this.#note(this.#get(name, uid), { notYetRun: null });
  }

  /** Returns false if the VMI with this UID no longer exists. */
  deleteVmi(name: string, uid: string): boolean {
    const modelVm = this.modelVms.get(name);
    if (modelVm?.vmi?.view.uid !== uid) return false;
    this.#stop(modelVm);
    return true;
  }

  /** Returns false if the VM is already being started or stopped. Throws `Refused` if it can't be restarted. */
  restart(name: string): boolean {
    const modelVm = this.#get(name);
    if (modelVm.requests.length > 0) return false;
    const { vmi } = modelVm;
    if (vmi === undefined || modelVm.view.runStrategy === 'Halted' || modelVm.view.runStrategy === 'Once')
      throw new Refused(`${name} can't be restarted`);
    modelVm.requests = [{ action: 'Stop', vmi: vmi.view.uid }, { action: 'Start' }];
    this.#note(modelVm);
    this.#touch(modelVm);
    return true;
  }

  label(name: string, vmiUid: string, revision: string): void {
    const modelVm = this.modelVms.get(name);
    if (modelVm?.vmi?.view.uid === vmiUid) this.#noteVmi(modelVm, { revision });
  }

  // Actions of people, and accidents.

  stop(modelVm: ModelVm): void {
    modelVm.stoppedAt = this.#clock.now;
    const { runStrategy } = modelVm.view;
    if (runStrategy === 'Always' || runStrategy === 'Once') {
      this.#power(modelVm, 'Halted');
      modelVm.stopped = 'by spec';
    } else if (isLive(modelVm.vmi)) {
      modelVm.requests = [{ action: 'Stop', vmi: modelVm.vmi!.view.uid }];
      modelVm.stopped = 'by request';
    }
    this.#note(modelVm);
    this.#touch(modelVm);
  }

  start(modelVm: ModelVm): void {
    const { runStrategy } = modelVm.view;
    if (isLive(modelVm.vmi) || modelVm.vmi?.view.deleting === true || modelVm.requests.length > 0) return;
    if (runStrategy === 'Halted') this.#power(modelVm, 'Always');
    else if (runStrategy === 'Manual' || runStrategy === 'RerunOnFailure') modelVm.requests = [{ action: 'Start' }];
    else return;
    modelVm.stopped = null;
    modelVm.heldBack = 0;
    this.#note(modelVm);
    this.#touch(modelVm);
  }

  crash(modelVm: ModelVm): void {
    if (!isLive(modelVm.vmi)) return;
    this.#noteVmi(modelVm, {
      phase: 'Failed',
      ready: false,
      paused: false,
      migrating: false,
      endedAt: this.#clock.now,
    });
    const { view } = modelVm.vmi!;
    if (view.runningSince === null) modelVm.startFailures++;
    else modelVm.failedVmis.push(view);
    this.#touch(modelVm);
  }

  shutDown(modelVm: ModelVm): void {
    if (!isLive(modelVm.vmi)) return;
    this.#noteVmi(modelVm, { phase: 'Succeeded', ready: false, paused: false, migrating: false });
    this.#touch(modelVm);
  }

  /** Makes the VMI not ready for `ms` milliseconds. It recovers by itself. */
  stumble(modelVm: ModelVm, ms: number): void {
    const { vmi } = modelVm;
    if (vmi?.view.ready !== true) return;
    this.#noteVmi(modelVm, { ready: false, readySince: this.#clock.now });
    this.#touch(modelVm);
    this.#clock.in(ms, () => this.#becomeReady(modelVm, vmi));
  }

  pause(modelVm: ModelVm, paused: boolean): void {
    if (modelVm.vmi?.view.phase !== 'Running' || modelVm.vmi.view.paused === paused) return;
    const { vmi } = modelVm;
    if (paused) vmi.wasReady = vmi.view.ready;
    vmi.isResuming = !paused && vmi.wasReady;
    this.#noteVmi(modelVm, { paused, ready: false, ...(vmi.view.ready ? { readySince: this.#clock.now } : {}) });
    this.#touch(modelVm);
    // The pod must become ready first.
    if (!paused && vmi.isUp) this.#clock.in(this.#clock.between(50, 500), () => this.#becomeReady(modelVm, vmi));
  }

  migrate(modelVm: ModelVm, migrating: boolean): void {
    if (modelVm.vmi?.view.phase !== 'Running') return;
    this.#noteVmi(modelVm, { migrating });
    this.#touch(modelVm);
  }

  optOut(modelVm: ModelVm, optedOut: boolean): void {
    const { annotations, ...metadata } = modelVm.object.metadata;
    const { [DO_NOT_DISRUPT_ANNOTATION]: _asked, ...others } = annotations ?? {};
    const asked = optedOut ? { [DO_NOT_DISRUPT_ANNOTATION]: 'true' } : {};
    modelVm.object = { ...modelVm.object, metadata: { ...metadata, annotations: { ...others, ...asked } } };
    this.#note(modelVm);
  }

  snapshot(modelVm: ModelVm, snapshotting: boolean): void {
    // When the snapshot is done, the VM may be deleted, and another may have its name.
    if (this.modelVms.get(modelVm.view.name) === modelVm) this.#note(modelVm, { snapshotting });
  }

  /** Takes the VM out of its pool. */
  detach(modelVm: ModelVm): void {
    this.#note(modelVm, { owner: null });
  }

  // Actions of KubeVirt.

  #touch(modelVm: ModelVm): void {
    if (modelVm.isDue) return;
    modelVm.isDue = true;
    this.#clock.in(this.#clock.between(1, 30), () => {
      modelVm.isDue = false;
      this.#reconcile(modelVm);
    });
  }

  #reconcile(modelVm: ModelVm): void {
    if (this.modelVms.get(modelVm.view.name) !== modelVm) return;
    const { view, vmi } = modelVm;
    if (view.deleting) {
      if (vmi !== undefined) this.#stop(modelVm);
      else this.#remove(modelVm);
      return;
    }
    modelVm.requests = modelVm.requests.slice(outstanding(modelVm));
    switch (this.#nextStep(modelVm)) {
      case 'start':
        this.#begin(modelVm);
        break;
      case 'stop':
        this.#stop(modelVm);
        break;
      case 'request-start':
        modelVm.requests.push({ action: 'Start' });
        this.#stop(modelVm);
        break;
      case 'wait':
        this.#clock.in(modelVm.heldBack - this.#clock.now, () => this.#touch(modelVm));
        break;
      case 'nothing':
        this.#liveUpdate(modelVm);
    }
    modelVm.requests = modelVm.requests.slice(outstanding(modelVm));
    modelVm.knownStrategy = view.runStrategy;
    this.#note(modelVm, this.#status(modelVm));
  }

  #nextStep({
    view,
    vmi,
    requests,
    heldBack,
    knownStrategy,
  }: ModelVm): 'start' | 'stop' | 'request-start' | 'wait' | 'nothing' {
    const [first] = requests;
    const asksToStart = first?.action === 'Start';
    const asksToStop = first?.action === 'Stop' && first.vmi === vmi?.view.uid;
    const start = heldBack > this.#clock.now ? 'wait' : 'start';
    if (vmi?.view.deleting === true) return 'nothing';
    switch (view.runStrategy) {
      case 'Always':
        return vmi === undefined ? start : asksToStop || isFinal(vmi.view) ? 'stop' : 'nothing';
      case 'Once':
        return vmi === undefined ? 'start' : 'nothing';
      case 'Manual':
        if (vmi === undefined) return asksToStart ? 'start' : 'nothing';
        return asksToStop ? 'stop' : 'nothing';
      case 'RerunOnFailure':
        if (vmi === undefined) return asksToStart || knownStrategy !== 'RerunOnFailure' ? start : 'nothing';
        if (vmi.view.phase === 'Failed') return asksToStart || asksToStop ? 'stop' : 'request-start';
        return asksToStop || isFinal(vmi.view) ? 'stop' : 'nothing';
      default:
        return vmi === undefined ? 'nothing' : 'stop';
    }
  }

  #begin(modelVm: ModelVm): void {
    const { view, object } = modelVm;
    const domain = field(object.spec, 'template', 'spec', 'domain');
    const sockets = Number(field(domain, 'cpu', 'sockets') ?? 1);
    const vmi: Vmi = {
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
    modelVm.vmi = vmi;
    modelVm.stopped = null;
    this.#noteVmi(modelVm, {});
    this.onStart(view, vmi.view);
    const fails = this.#clock.chance() < this.#options.failing(view.revision ?? '');
    this.#clock.in(this.#clock.between(50, 3_000), () => {
      if (modelVm.vmi !== vmi || !isLive(vmi)) return;
      if (!fails) return this.#becomeReady(modelVm, vmi);
      // Some VMIs crash a few times before they hang: with an endless crash loop, the model would not end.
      if (modelVm.crashes++ < 2 && this.#clock.chance() < 0.5) return this.crash(modelVm);
      modelVm.startFailures = 0;
      this.#noteVmi(modelVm, { phase: 'Running', runningSince: this.#clock.now });
      this.#touch(modelVm);
    });
  }

  #becomeReady(modelVm: ModelVm, vmi: Vmi): void {
    if (modelVm.vmi !== vmi || !isLive(vmi) || vmi.view.paused || vmi.view.ready) return;
    modelVm.startFailures = 0;
    vmi.isUp = true;
    vmi.isResuming = false;
    const { now } = this.#clock;
    this.#noteVmi(modelVm, {
      phase: 'Running',
      ready: true,
      readySince: now,
      runningSince: vmi.view.runningSince ?? now,
    });
    this.#touch(modelVm);
  }

  #stop(modelVm: ModelVm): void {
    const vmi = modelVm.vmi!;
    if (vmi.view.deleting) return;
    if (vmi.view.phase === 'Failed') modelVm.heldBack = this.#clock.now + 1_000;
    this.#noteVmi(modelVm, { deleting: true, migrating: false });
    this.#clock.in(this.#clock.between(10, 500), () => {
      if (modelVm.vmi !== vmi) return;
      modelVm.vmi = undefined;
      this.#tell({ kind: 'vmi', name: modelVm.view.name, view: undefined });
      this.#touch(modelVm);
    });
  }

  /** Hotplugs sockets if nothing else has changed and the VMI has room for them; otherwise a restart is required. */
  #liveUpdate(modelVm: ModelVm): void {
    const { vmi, object } = modelVm;
    if (vmi === undefined || !isLive(vmi)) return;
    const domain = field(object.spec, 'template', 'spec', 'domain');
    const sockets = Number(field(domain, 'cpu', 'sockets') ?? 1);
    const now = vmi.view.cpu.sockets!;
    if (field(domain, 'cpu', 'cores') !== vmi.cores) return this.#restartRequired(modelVm, 'cores');
    if (sockets === now) return this.#restartRequired(modelVm, null);
    if (this.#options.strategy === 'Stage') return this.#restartRequired(modelVm, 'sockets, and KubeVirt stages them');
    // KubeVirt may also refuse for reasons that can't be foreseen.
    if (sockets < now || sockets > vmi.view.cpu.maxSockets! || this.#clock.chance() < 0.3)
      return this.#restartRequired(modelVm, 'sockets');
    this.#restartRequired(modelVm, null);
    this.#noteVmi(modelVm, { cpu: { ...vmi.view.cpu, sockets }, migrating: true });
    this.#clock.in(this.#clock.between(100, 1_000), () => {
      if (modelVm.vmi !== vmi || !isLive(vmi)) return;
      this.#noteVmi(modelVm, { cpu: { ...vmi.view.cpu, current: vmi.view.cpu.sockets }, migrating: false });
      this.#touch(modelVm);
    });
  }

  #restartRequired(modelVm: ModelVm, what: string | null): void {
    const restartRequired =
      what === null ? null : (modelVm.view.restartRequired ?? { since: this.#clock.now, why: `${what} changed` });
    if (restartRequired !== modelVm.view.restartRequired) this.#note(modelVm, { restartRequired });
  }

  #status({ view, vmi, heldBack, startFailures }: ModelVm): Partial<VmView> {
    let state = 'Stopped';
    if (vmi?.view.deleting === true) state = 'Stopping';
    else if (vmi?.view.phase === 'Running')
      state = vmi.view.migrating ? 'Migrating' : vmi.view.paused ? 'Paused' : 'Running';
    else if (isLive(vmi)) state = 'Starting';
    else if (heldBack > this.#clock.now && view.runStrategy !== 'Halted') state = 'CrashLoopBackOff';
    const restartRequired = isLive(vmi) ? view.restartRequired : null;
    return { hasVmi: vmi !== undefined, ready: vmi?.view.ready ?? false, state, restartRequired, startFailures };
  }

  #remove(modelVm: ModelVm): void {
    this.modelVms.delete(modelVm.view.name);
    this.#tell({ kind: 'vm', name: modelVm.view.name, view: undefined });
  }

  #power(modelVm: ModelVm, runStrategy: string): void {
    const { running: _running, ...spec } = modelVm.object.spec;
    modelVm.object = { ...modelVm.object, spec: { ...spec, runStrategy } };
  }

  #get(name: string, uid?: string, version?: string): ModelVm {
    const modelVm = this.modelVms.get(name);
    if (modelVm === undefined || (uid !== undefined && modelVm.view.uid !== uid))
      throw new Refused(`${name} is not there`);
    if (version !== undefined && modelVm.view.resourceVersion !== version) throw new Refused(`${name} has changed`);
    return modelVm;
  }

  /** Emits the VM as it is now, if it differs from what was last emitted. */
  #note(modelVm: ModelVm, fields: Partial<VmView> = {}): void {
    const { view, object } = modelVm;
    const next: VmView = {
      ...view,
      labels: object.metadata.labels,
      revision: object.metadata.labels[REVISION_LABEL] ?? null,
      runStrategy: powerOf(object.spec) ?? 'Halted',
      optedOut: object.metadata.annotations?.[DO_NOT_DISRUPT_ANNOTATION] === 'true',
      changingState: modelVm.requests.length > 0,
      ...fields,
    };
    next.notReadySince = next.ready ? null : (view.notReadySince ?? this.#clock.now);
    if (view.resourceVersion !== '' && (Object.keys(next) as (keyof VmView)[]).every((key) => next[key] === view[key]))
      return;
    modelVm.view = { ...next, resourceVersion: String(this.#version + 1) };
    this.#tell({ kind: 'vm', name: view.name, view: modelVm.view });
  }

  #noteVmi(modelVm: ModelVm, fields: Partial<VmiView>): void {
    const vmi = modelVm.vmi!;
    vmi.view = { ...vmi.view, ...fields, resourceVersion: String(this.#version + 1) };
    this.#tell({ kind: 'vmi', name: modelVm.view.name, view: vmi.view });
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
export const isLive = (vmi: { view: VmiView } | undefined): boolean =>
  vmi !== undefined && !vmi.view.deleting && !isFinal(vmi.view);

/** Returns the index of a VM's first request that has not been carried out. */
function outstanding({ requests, vmi }: ModelVm): number {
  const first = requests.findIndex((request) =>
    request.action === 'Stop' ? request.vmi === vmi?.view.uid : !isLive(vmi),
  );
  return first === -1 ? requests.length : first;
}

/** One worker's cache of the cluster. It follows the changes of each kind separately, and with a delay. */
export class Snapshot {
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
