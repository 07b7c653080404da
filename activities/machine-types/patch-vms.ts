import { setTimeout as sleep } from 'node:timers/promises';
import { VirtualMachines } from '../../api/resources.ts';
import { vmView, type VirtualMachine } from '../../decisions/from-object/vm.ts';
import { liveVmi } from '../../decisions/health/availability.ts';
import { later, type ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { newRecord } from '../../decisions/machine-types/new-record.ts';
import { typePatch, type TypeChange } from '../../decisions/machine-types/type-patch.ts';
import { transitionNeed, type TransitionNeed } from '../../decisions/machine-types/vm-need.ts';
import type { TransitionRecord } from '../../decisions/views/annotations/transition-record.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { isConflict, isRefusal, isTransient } from '../../kubernetes/errors.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { liveVm } from '../owners/live-vm.ts';
import type { TransitionContext } from './context.ts';
import { recordTypeChange } from './record-type-change.ts';

/** Maximum number of tries. The second refusal is the API server's last word; the first may be due to an old cache. */
const TRIES = 5;
const TRY_AGAIN_MS = 50;
/** A webhook that answers 500 may itself be in trouble. */
const WEBHOOK_AGAIN_MS = 300;

/** A VM that was not patched. */
export interface Unpatched {
  vm: string;
  uid: string;
  end:
    /** Someone has changed the VM meanwhile: it is left as it is. */
    | 'Changed'
    /** The API server refuses the change. */
    | 'Failed';
  message: string;
}

/** What the types of these VMs were changed from and to; null for a default. For `drover history`. */
export interface TypeChanges {
  from: string | null;
  to: string | null;
  vms: string[];
}

interface MachineTypePatcherOptions {
  client: KubeClient;
  cache: ClusterCache;
  context: TransitionContext;
}

/** Changes the machine types of VMs one by one, each only if the VM is still as it was when that was decided. */
export class MachineTypePatcher {
  readonly #in: MachineTypePatcherOptions;
  #vms: string | undefined;
  /** How many VMs carry the transition's record now and did not before this began. */
  patched = 0;
  readonly #changes = new Map<string, TypeChanges>();

  constructor(options: MachineTypePatcherOptions) {
    this.#in = options;
  }

  /** What a cache must have reached to show the patches. */
  get minVersions(): ResourceVersions {
    return { vms: this.#vms };
  }

  /** What was changed, by this try or an earlier one. */
  get changes(): TypeChanges[] {
    return [...this.#changes.values()];
  }

  /** Returns null if the VM is done or there is nothing to do. Throws transient errors, for the caller to retry. */
  async execute(key: string): Promise<Unpatched | null> {
    let vm = this.#in.cache.vms.get(key);
    const first = vm;
    for (let tries = 1; ; tries++) {
      if (vm === undefined || vm.deleting) return null;
      // The worker that continues the operation, if any, does the rest.
      if (this.#in.context.authority.whyHeld() !== null) return null;
      const need = this.#need(vm);
      if (need.need !== 'patch' && need.need !== 'label') return this.#settled(key, need, { vm, first: first! });
      try {
        await this.#write(vm, need);
        return null;
      } catch (error) {
        if (!isRefusal(error)) throw error;
        const isLast = tries > 1 && !isConflict(error) && !isTransient(error);
        if (isLast || tries === TRIES) return { vm: key, uid: vm.uid, end: 'Failed', message: error.message };
        const now = await this.#read(vm);
        if (now !== undefined && now.uid !== vm.uid) return null;
        vm = now;
        await sleep((isTransient(error) ? WEBHOOK_AGAIN_MS : TRY_AGAIN_MS) * tries);
      }
    }
  }

  async #read(at: VmView): Promise<VmView | undefined> {
    const live = await liveVm(this.#in.client, at);
    // Otherwise the next look would be as outdated as this one.
    this.#vms = later(this.#vms, live?.metadata.resourceVersion);
    return live && this.#in.cache.vmView(live);
  }

  #need(vm: VmView): TransitionNeed {
    const { rules, snapshot } = this.#in.context;
    return transitionNeed(rules, vm, snapshot);
  }

  /**
   * Handles a VM that no longer needs a patch, because an earlier attempt or another client has made the change.
   */
  #settled(key: string, { need }: TransitionNeed, { vm, first }: { vm: VmView; first: VmView }): Unpatched | null {
    const { id } = this.#in.context.rules.ref;
    if (vm.transition?.id === id) this.#count(vm, vm.transition);
    // For a deferred VM, the next look tells what holds it.
    else if (need !== 'deferred' && vm.machineType !== first.machineType)
      return { vm: key, uid: vm.uid, end: 'Changed', message: `its type was changed meanwhile` };
    return null;
  }

  async #write(vm: VmView, need: Extract<TransitionNeed, { need: 'patch' | 'label' }>): Promise<void> {
    const { client, context } = this.#in;
    const { rules, snapshot } = context;
    const { id } = rules.ref;
    const from = vm.machineType ?? '';
    const vmi = liveVmi(snapshot.vmiOf(vm));
    const wanted = need.need === 'patch' ? need.to : undefined;
    const group = { from, wanted: wanted ?? null, architecture: vm.architecture, preference: vm.preference };
    const to = wanted === undefined ? from : (rules.resultOf(group)?.to ?? wanted ?? '');
    const record = newRecord(vm, vmi, { id, ...nameIn(context), to, at: new Date().toISOString() });
    const setsLabel = need.need === 'label' || need.setsLabel;
    // A mark that an earlier transition has left behind no longer has an effect, so it is removed.
    const cleared = vm.transitionLabel === null ? undefined : null;
    const written = await this.#patch(vm, { record, machineType: wanted, label: setsLabel ? id : cleared });
    const isNew = vm.transition?.id !== id;
    const actual = await this.#correct(written, record);
    if (isNew) this.#count(vm, actual);
    if (setsLabel && (isNew || vm.transition?.vmiType === null))
      await recordTypeChange(client, vm, actual, rules.transition.requestedBy);
  }

  /** Corrects the record if the VM's type is not what the dry run has shown: an undo relies on it. */
  async #correct(written: VmView, record: TransitionRecord): Promise<TransitionRecord> {
    const to = written.machineType ?? '';
    if (to === record.to) return record;
    const corrected = { ...record, to };
    try {
      await this.#patch(written, { record: corrected });
    } catch (error) {
      // Someone else was faster, and decides what the VM is now.
      if (!isRefusal(error)) throw error;
    }
    return corrected;
  }

  #count({ namespace, name }: VmView, { from, to, vmiType }: TransitionRecord): void {
    this.patched++;
    // An alias resolves to the type of the VMI.
    const before = (from === to ? vmiType : from) || null;
    const key = JSON.stringify([before, to]);
    const change = this.#changes.get(key) ?? { from: before, to: to || null, vms: [] };
    this.#changes.set(key, change);
    change.vms.push(`${namespace}/${name}`);
  }

  /** Changes the VM in the version that was read, and returns it. */
  async #patch(vm: VmView, change: TypeChange): Promise<VmView> {
    const at = { namespace: vm.namespace, name: vm.name };
    const written = await this.#in.client.patch<VirtualMachine>(VirtualMachines, at, 'merge', typePatch(vm, change));
    this.#vms = later(this.#vms, written.metadata.resourceVersion);
    return vmView(written);
  }
}

/** How users name the operation: its object may be gone by the time that a user asks. */
const nameIn = ({ authority: { operation } }: TransitionContext): Pick<TransitionRecord, 'by'> =>
  operation === undefined ? {} : { by: operation.metadata.name };
