import { cancellationSignal } from '@temporalio/activity';
import { POWER_ANNOTATION } from '../../api/labels-and-annotations.ts';
import { VirtualMachinePools, VirtualMachines } from '../../api/resources.ts';
import type { Labels } from '../../decisions/disruption-budget/any-vms/budget-index.ts';
import { BY_KUBEVIRT, type Purpose } from '../../decisions/disruption-budget/any-vms/places.ts';
import type { OwningPool, VmsSnapshot } from '../../decisions/disruption-budget/restart-budget.ts';
import type { VirtualMachine } from '../../decisions/from-object/vm.ts';
import { isRestarting, liveVmi } from '../../decisions/health/availability.ts';
import { pick } from '../../decisions/lib/json.ts';
import { maxVersions, type ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { PowerAction } from '../../decisions/power/action.ts';
import { powerNeed } from '../../decisions/power/need.ts';
import type { PowerOutcome, VmInProgress } from '../../decisions/power/outcome.ts';
import type { AdmittedVm } from '../../decisions/power/plan.ts';
import { isUntouched, newPowerRecord } from '../../decisions/power/untouched.ts';
import type { RecordedChange } from '../../decisions/views/annotations/recorded-change.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import { ActRefused, KubeError } from '../../kubernetes/errors.ts';
import { clocks } from '../../kubernetes/lib/clocks.ts';
import type { ClusterAccess } from '../cache/access.ts';
import { waitForObservedGeneration } from '../cache/wait-for-observed-generation.ts';
import { VmChanger, type Change, type Changed } from '../changes/vm-changer.ts';
import { References } from '../configuration/references.ts';
import { doWithClaim, NotAdmitted, type Claim } from '../disruption-budget/claim.ts';
import { actOnVm } from '../disruption/act-on-vm.ts';
import { startVm, stopVm } from '../disruption/call-subresource.ts';
import { Migrations } from '../disruption/migrations.ts';
import { restartVm } from '../disruption/restart-vm.ts';
import { recordVmEvent } from '../lib/events.ts';
import { patchKept } from '../lib/refuse-unkept.ts';
import { livePool } from '../owners/live-owner.ts';
import { liveVmWithCachedVmi, liveVmWithVmi, type LiveVm } from '../owners/live-vm.ts';
import type { PoolKey } from '../owners/owner-key.ts';
import { HeldVms, type HeldVmsOptions } from './held-vms.ts';
import { owningPool } from './snapshot-of-vms.ts';

const TRY_AGAIN_MS = 100;
/** How long KubeVirt may take to observe a VM that was changed, before another VM has its turn. */
const OBSERVED_WITHIN_MS = 5_000;

const EVENT_REASONS = {
  Start: 'Started',
  Stop: 'Stopped',
  Restart: 'Restarted',
  Migrate: 'Migrating',
  Patch: 'Patched',
} as const;

export interface VmPowerOptions extends ClusterAccess, Omit<HeldVmsOptions, 'cache'> {
  /** UID or ID of what the VMs are acted on for: noted on them. */
  by: string;
  /** See `PowerRecord`. */
  turn?: number;
  /** What `Patch` does; absent for any other action. */
  change?: Change | undefined;
  /** Note of the Events on the VMs. */
  note: string;
  /** Returns why the VM, as the API server has it, must no longer be acted on; null if it may. */
  whyNotAnyMore: (vm: VmView, snapshot: Pick<VmsSnapshot, 'vmiOf' | 'poolOf'>) => string | null;
}

/** A VM that is to be acted on. */
export interface PowerVm {
  /** `namespace/name`. */
  name: string;
  /** UID that it was chosen by: of its VMI for a restart, else of the VM. */
  target: string;
  admitted: AdmittedVm;
}

/** Null: the VM is now waited for. */
type Executed = PowerOutcome | NotAdmitted | null;

/** A VM and its pool, if a pool of drover's owns it. */
interface PooledVm extends LiveVm {
  owner: OwningPool | undefined;
}

/**
 * Starts, stops, restarts, migrates or changes VMs one by one, each decided again right before acting: only the chosen
 * one, and only if it still needs that and nothing stands in its way. Notes on the VM what it acts for, before it does
 * or with it, so that it is not done again for the same operation. For a restart or a migration, a claim on the budget
 * of the VM's pool is claimed like every other disruption of the pool's VMs.
 */
export class VmPower {
  readonly #in: VmPowerOptions;
  readonly #references: References;
  /** VMs that are not to be acted on at this moment. */
  readonly held: HeldVms;
  readonly #changer: VmChanger | undefined;
  #minVersions: ResourceVersions = {};

  constructor(options: VmPowerOptions) {
    this.#in = options;
    this.held = new HeldVms(options);
    this.#references = new References(options.client);
    const { client, cache, change } = options;
    this.#changer = change && new VmChanger(client, cache, change);
  }

  /** What a cache must have reached to show what was done. */
  get minVersions(): ResourceVersions {
    return this.#minVersions;
  }

  /** Whether the VM was acted on for that already, as the VM is. */
  hasActedOn(vm: VmView, vmi: VmiView | undefined): boolean {
    const isPowered = vm.power?.by === this.#in.by && !isUntouched(vm.power, vm, vmi);
    if (this.#in.action !== 'Patch') return isPowered;
    const change = this.#recordedChange(vm);
    return change !== undefined && (isPowered || change.vmi === undefined || change.vmi !== liveVmi(vmi)?.uid);
  }

  #recordedChange({ changes }: VmView): RecordedChange | undefined {
    return changes.find(({ id }) => id === this.#in.by);
  }

  /** Returns what was noted on the VM for that; without a note, it is another VM. */
  begunWith(key: string, vm: VmView | undefined, since: number): VmInProgress {
    if (vm?.power?.by === this.#in.by) return { vm: key, uid: vm.uid, ...vm.power };
    return { vm: key, uid: vm !== undefined && this.#recordedChange(vm) !== undefined ? vm.uid : '', since };
  }

  /** Throws transient errors, for the caller to retry. */
  async execute(item: PowerVm, begun: VmInProgress): Promise<Executed> {
    const { since, wasDown } = begun;
    const failed = ({ message }: Error): PowerOutcome => ({
      vm: item.name,
      end: 'Failed',
      message,
      since,
      ...(wasDown === true && { wasDown }),
    });
    return actOnVm(
      () => this.#executeOnce(item, begun),
      failed,
      (tries) => TRY_AGAIN_MS * tries,
    );
  }

  async #executeOnce(item: PowerVm, begun: VmInProgress): Promise<Executed> {
    const { action, change } = this.#in;
    // A change that restarts nothing needs to know of the VMI only what the change takes to have its effect.
    const live = await this.#read(item.name, change?.restarts === false ? liveVmWithCachedVmi : liveVmWithVmi);
    if (live !== undefined && this.hasActedOn(live.vm, live.vmi)) {
      // By an earlier attempt of this activity, or by a call whose answer was lost.
      this.#hasDone({ vms: live.vm.resourceVersion });
      return null;
    }
    return action === 'Patch' ? this.#change(item, live, begun) : this.#power(action, item, live, begun);
  }

  async #power(
    action: Exclude<PowerAction, 'Patch'>,
    { name: key, target }: PowerVm,
    live: PooledVm | undefined,
    begun: VmInProgress,
  ): Promise<NotAdmitted | null> {
    const message = this.#whyNot(action, target, live);
    if (message !== null) return this.held.refused(key, message);
    const { stored, vm, vmi } = live!;
    if (action === 'Restart') await this.#references.refuseRestart(stored, vmi);
    const done = await this.#act(action, live!, begun);
    if (done instanceof NotAdmitted) return this.held.refusedBy(done, key, vm.owner?.uid);
    this.#hasDone(done);
    await this.#recordEvent(action, vm);
    return null;
  }

  /** Changes the VM, unless it was done before, and restarts it if it is to be restarted for that. */
  async #change(item: PowerVm, live: PooledVm | undefined, begun: VmInProgress): Promise<Executed> {
    const { name: key } = item;
    if (live !== undefined && this.#recordedChange(live.vm) !== undefined)
      return this.#restartFor(item, live.vm, begun);
    const message = this.#whyNot('Patch', item.target, live);
    if (message !== null) return this.held.refused(key, message);
    const changed = await this.#changer!.change(live!, (...of) => this.#claimed(live!, ...of));
    if (changed instanceof NotAdmitted) return this.held.refusedBy(changed, key);
    if (changed.is === 'nothing') return { vm: key, end: 'Gone', message: 'it has it already' };
    if (changed.is === 'skipped') return { vm: key, end: 'Left', message: changed.message };
    this.#hasDone({ vms: changed.vm.resourceVersion });
    // The record on the VM says what was done; an Event also tells its owner that a restart is due.
    if (this.#recordedChange(changed.vm)?.need === 'Restart') await this.#recordEvent('Patch', changed.vm);
    return this.#restartFor(item, changed.vm, begun);
  }

  /** Writes a change that KubeVirt applies to the VMI while that runs: mostly by a migration. No pool counts these. */
  #claimed(
    { vm, vmi }: LiveVm,
    write: (claim: Claim) => Promise<Changed>,
    becomes: Labels,
  ): Promise<Changed | NotAdmitted> {
    const target = { vm, vmi, becomes, ...this.held.purposeOf(vmi), migration: BY_KUBEVIRT, pool: null };
    return doWithClaim(this.#in.claims, target, write);
  }

  async #restartFor(item: PowerVm, vm: VmView, begun: VmInProgress): Promise<NotAdmitted | null> {
    const target = this.#recordedChange(vm)?.vmi;
    // Every client that may change the VM may write a record there.
    if (target === undefined || this.#in.change?.restarts !== true) return null;
    const isObserved = await waitForObservedGeneration(this.#in.cache, vm, OBSERVED_WITHIN_MS, cancellationSignal());
    if (!isObserved) return this.held.refused(item.name, 'KubeVirt has not observed its spec');
    const live = await this.#read(item.name);
    if (live !== undefined && this.hasActedOn(live.vm, live.vmi)) return null;
    return this.#power('Restart', { ...item, target }, live, begun);
  }

  /** Why this is not to be done to the VM, as it is now; null if it is. */
  #whyNot(action: PowerAction, target: string, live: PooledVm | undefined): string | null {
    const { vm, vmi, owner } = live ?? {};
    const need = powerNeed(action, { target, vm, vmi, owner });
    if (vm === undefined || need.need === 'nothing' || isRequested(action, vm, vmi))
      return 'another client has done it';
    if (need.need !== 'act') return need.message;
    return this.#in.whyNotAnyMore(vm, { vmiOf: () => vmi, poolOf: () => owner });
  }

  #hasDone(seen: ResourceVersions): void {
    this.#minVersions = maxVersions(this.#minVersions, seen);
  }

  #recordEvent(action: PowerAction, vm: VmView): Promise<void> {
    const { client, note } = this.#in;
    return recordVmEvent(client, vm, { type: 'Normal', reason: EVENT_REASONS[action], action, note });
  }

  /** All but a start takes places in the budgets of the VM. A stop asks no pool: a user asks for no availability. */
  async #act(
    action: Exclude<PowerAction, 'Patch'>,
    { vm, vmi, owner }: PooledVm,
    begun: VmInProgress,
  ): Promise<ResourceVersions | NotAdmitted> {
    const { client, claims } = this.#in;
    const pool = owner?.pool.metadata ?? null;
    const written = clocks();
    if (action === 'Start') return orRefused(startVm(client, await this.#annotate(vm, vmi, begun), written));
    const why = this.held.purposeOf(vmi);
    if (action === 'Migrate') return this.#migrate({ vm, vmi: vmi!, pool, ...why }, begun);
    return doWithClaim(claims, { vm, vmi, ...why, pool: action === 'Stop' ? null : pool }, async (claim) => {
      const written = clocks();
      const annotated = await this.#annotate(vm, vmi, begun, claim);
      if (action === 'Stop') return orRefused(stopVm(client, annotated, written, claim));
      return orRefused(restartVm(client, { vm: annotated, vmi: vmi!, claim, written }));
    });
  }

  /**
   * Migrates the VMI. The note on the VM says which migration of the VMI it is, and so its name: another try finds it
   * made.
   */
  async #migrate(
    { pool, ...target }: { vm: VmView; vmi: VmiView; pool: PoolKey | null } & Purpose,
    begun: VmInProgress,
  ): Promise<ResourceVersions | NotAdmitted> {
    const { migration: attempt } = begun;
    const { vm, vmi } = target;
    if (attempt === undefined || (vmi.evacuation?.attempt ?? 0) >= attempt)
      return new NotAdmitted('another migration of it has just ended');
    const note = (claim: Claim): Promise<VmView> => this.#annotate(vm, vmi, begun, claim);
    return new Migrations({ ...this.#in, key: pool }).begin({ purpose: 'operation', ...target, attempt, note });
  }

  /** Notes on the VM what is about to be done, unless the VM has changed since it was read. */
  async #annotate(vm: VmView, vmi: VmiView | undefined, begun: VmInProgress, claim?: Claim): Promise<VmView> {
    const { client, cache } = this.#in;
    const { namespace, name, uid, resourceVersion } = vm;
    const annotations = {
      [POWER_ANNOTATION]: JSON.stringify(newPowerRecord(pick(this.#in, ['by', 'turn']), begun, vm, vmi)),
    };
    const patch = { metadata: { uid, resourceVersion, annotations } };
    return cache.vmView(
      await patchKept<VirtualMachine>(client, VirtualMachines, { namespace, name }, patch, {
        lastCheck: claim?.lastCheck,
      }),
    );
  }

  /** Returns the VM, its VMI and its pool; by default as the API server has them now. */
  async #read(key: string, read: typeof liveVmWithCachedVmi = liveVmWithVmi): Promise<PooledVm | undefined> {
    const { client, cache } = this.#in;
    const [namespace = '', name = ''] = key.split('/');
    const live = await read({ client, cache }, { namespace, name });
    const owner = live?.vm.owner;
    if (live === undefined || owner?.kind !== VirtualMachinePools.kind) return live && { ...live, owner: undefined };
    // KubeVirt's own pools have the same kind: the UID tells them apart.
    const pool = await livePool(client, { namespace, ...owner });
    return { ...live, owner: owningPool(cache, live.vm, pool) };
  }
}

/** Reports whether KubeVirt was asked for that before, and has not done it yet. */
const isRequested = (action: PowerAction, vm: VmView, vmi: VmiView | undefined): boolean =>
  action !== 'Patch' && isRestarting(vm, vmi) && (action !== 'Stop' || liveVmi(vmi) === undefined);

/** KubeVirt also answers 500 if it refuses: what it repeats after several tries is its last word. */
const orRefused = <T>(call: Promise<T>): Promise<T> =>
  call.catch((error: unknown) => {
    throw error instanceof KubeError && error.status === 500 ? new ActRefused('Conflict', error.message) : error;
  });
