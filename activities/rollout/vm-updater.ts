import { cancellationSignal } from '@temporalio/activity';
import { REVISION_LABEL } from '../../api/names.ts';
import type { Stored } from '../../api/objects.ts';
import { withDefaults } from '../../api/pool-defaults.ts';
import type { Disruption } from '../../api/pool/pool.ts';
import { VirtualMachineInstances } from '../../api/resources.ts';
import { liveVmi } from '../../decisions/disruption-budget/availability.ts';
import { later, type ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { grownDisks, mergePatch } from '../../decisions/merge/vm.ts';
import type { BatchVm, UpdateOutcome } from '../../decisions/rollout/batch.ts';
import { vmView, type VirtualMachine } from '../../decisions/views/from-object/vm.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import { disruptionBetween } from '../../decisions/vm-update/disruption.ts';
import { recheckVm, type Recheck } from '../../decisions/vm-update/recheck.ts';
import { ignoreStale, isTransient, KubeError } from '../../kubernetes/errors.ts';
import { retryOnConflict } from '../../kubernetes/retry.ts';
import { waitForObservedGeneration } from '../cache/wait-for-observed-generation.ts';
import { isDiskHeld } from '../disks/disk-held.ts';
import { growDisks } from '../disks/grow.ts';
import { SpecWriter } from '../disks/spec-writer.ts';
import { claimFor } from '../disruption-budget/place-for.ts';
import type { DisruptionClaim, DisruptionClaims } from '../disruption-budget/places.ts';
import { refuseDrift, type RightVm } from '../drift/right-vm.ts';
import { liveVmWithVmi } from '../lib/live-vm.ts';
import { livePool } from '../owners/live-owner.ts';
import { restartVm } from '../power/restart-vm.ts';
import { VmTargets, type VmTargetsOptions } from './vm-targets.ts';
import { vmiMetadataPatch } from './vmi-metadata.ts';

/** KubeVirt observes a new spec within moments if it is healthy. */
const OBSERVED_WITHIN_MS = 10_000;

export interface VmUpdaterOptions extends VmTargetsOptions {
  places: DisruptionClaims;
  revision: string;
  rollout: string;
  startedAt: number;
}

interface Look {
  pool: StoredPool | undefined;
  vm: Stored<VirtualMachine> | undefined;
  /** Its VMI. */
  own: VmiView | undefined;
  /** The VM without its drift, if that is to be set right. */
  right: RightVm | undefined;
}

/** A VMI that runs what its VM has drifted to is of no revision, whatever its label says. */
const asRun = (vmi: VmiView, right: RightVm | undefined): VmiView =>
  right?.isVmiOld === true ? { ...vmi, revision: null } : vmi;

const deferred = ({ name }: BatchVm, why: string): UpdateOutcome => ({ vm: name, end: 'Deferred', why });

/** Brings the VMs of one batch to their revision. */
export class VmUpdater {
  readonly #in: VmUpdaterOptions;
  readonly #targets: VmTargets;
  readonly #writer: SpecWriter;
  readonly #places = new Map<string, DisruptionClaim>();
  #vms: string | undefined;
  #vmis: string | undefined;

  constructor(options: VmUpdaterOptions) {
    this.#in = options;
    this.#targets = new VmTargets(options);
    this.#writer = new SpecWriter(options.client, options.cache);
  }

  get minVersions(): ResourceVersions {
    return { vms: this.#vms, vmis: this.#vmis };
  }

  /**
   * Returns null if the VM is now in progress, and to be waited for. Throws transient errors, for the caller to retry.
   */
  async take(held: BatchVm): Promise<UpdateOutcome | null> {
    try {
      const outcome = await retryOnConflict(() => this.#take(held));
      // A VM that is not in progress needs no place.
      if (outcome !== null) await this.#giveUp(held.name);
      return outcome;
    } catch (error) {
      if (!(error instanceof KubeError) || isTransient(error)) throw error;
      await this.#giveUp(held.name);
      return isDiskHeld(error)
        ? { ...deferred(held, error.message), isOwn: true }
        : { vm: held.name, end: 'Failed', why: error.message };
    }
  }

  async #take(held: BatchVm): Promise<UpdateOutcome | null> {
    const { pool, vm, own, right } = await this.#look(held);
    const view = vm && this.#in.cache.vmView(vm);
    const vmi = own && asRun(own, right);
    const take = this.#decide(held, pool, view, vmi, right?.disruption);
    if (pool === undefined || vm === undefined || view === undefined || take.take === 'gone')
      return { vm: held.name, end: 'Gone' };
    if (take.take === 'later') return deferred(held, take.why);
    if (take.take === 'nothing') return held.act === 'write' ? { vm: held.name, end: 'Updated' } : null;
    const later = await this.#whyLater(held, take, { pool, vm, own, right }, view);
    if (later !== null) return later;
    // Its removal claims the place again.
    if (held.act === 'replace') return null;

    const now = take.writes ? await this.#write(pool, vm, own, right) : view;
    if (take.restarts !== null) return this.#restart(held, now, own, take.restarts);
    await this.#giveUp(held.name);
    if (held.act !== 'write') return null;
    const live = liveVmi(vmi);
    if (live !== undefined) await this.#label(live);
    return { vm: held.name, end: 'Updated' };
  }

  /** Claims what the act on the VM needs; returns its outcome if that is not there. */
  async #whyLater(
    held: BatchVm,
    { restarts, writes, disrupts }: Extract<Recheck, { take: 'act' }>,
    { pool, vm, own, right }: Look & { pool: StoredPool; vm: Stored<VirtualMachine> },
    view: VmView,
  ): Promise<UpdateOutcome | null> {
    const replaces = held.act === 'replace';
    const made = await this.#targets.targetOf(pool, vm, right);
    const after = replaces ? made.target : made.merged;
    const disk = replaces || writes ? await this.#writer.whyHeld(pool, { before: vm, after, made: made.target }) : null;
    if (disk !== null) return { ...deferred(held, disk), isOwn: true };
    const startsAgain = replaces || restarts !== null;
    const missing = startsAgain ? await this.#targets.missing(after) : null;
    if (missing !== null) return { ...deferred(held, missing), isOwn: true };
    const full = disrupts ? await this.#claim(view, own) : null;
    return full === null ? null : deferred(held, full);
  }

  /** Reads the pool, the VM and its VMI as they are now, and what is to be set right. */
  async #look(held: BatchVm): Promise<Look> {
    const { client, cache, key } = this.#in;
    const at = { namespace: key.namespace, name: held.name };
    const signal = cancellationSignal();
    const [pool, { vm, vmi }] = await Promise.all([livePool(client, key, signal), liveVmWithVmi(client, at, signal)]);
    const own = vmi && cache.withSurroundings(vmi);
    const setsRight = held.setsRight === true;
    const right = setsRight && pool && vm ? await this.#targets.rightVm(pool, vm, own) : undefined;
    return { pool, vm, own, right };
  }

  /** Restarts the VMI of a VM that has its new spec, if the VM still has its place. `own`: its VMI before the write. */
  async #restart(held: BatchVm, vm: VmView, own: VmiView | undefined, target: VmiView): Promise<UpdateOutcome | null> {
    const { client, cache } = this.#in;
    if (!vm.generationObserved) {
      // Meanwhile, the VM may have left its pool, or may have come up and need a place.
      if (await waitForObservedGeneration(cache, vm, OBSERVED_WITHIN_MS, cancellationSignal())) return this.#take(held);
      // KubeVirt would start the next VMI from the previous spec.
      return deferred(held, 'KubeVirt has not observed its new spec');
    }
    const full = this.#places.get(held.name)?.isFresh() === false ? await this.#claim(vm, own) : null;
    if (full !== null) return deferred(held, full);
    this.#note(await restartVm(client, vm, target));
    return null;
  }

  /** Claims a place in the pool's disruption budget. Resolves to null, or to the reason why there is no place. */
  async #claim(vm: VmView, vmi: VmiView | undefined): Promise<string | null> {
    const place = await claimFor(this.#in.places, this.#in.key, vm, vmi);
    if (typeof place === 'string') return place;
    this.#places.set(vm.name, place);
    return null;
  }

  /** Gives the VM's place back, if it has one. */
  async #giveUp(name: string): Promise<void> {
    await this.#places.get(name)?.release();
  }

  #note({ vms, vmis }: ResourceVersions): void {
    this.#vms = later(this.#vms, vms);
    this.#vmis = later(this.#vmis, vmis);
  }

  /** Decides on the pool and the VM as they are now. */
  #decide(
    held: BatchVm,
    pool: StoredPool | undefined,
    vm: VmView | undefined,
    vmi: VmiView | undefined,
    correction: Disruption | null = null,
  ): Recheck {
    const { revision, rollout, startedAt } = this.#in;
    return recheckVm({ held, revision, rollout, startedAt, vm, vmi, pool, correction });
  }

  /** The VMI runs drifted content, so its revision label is removed until it has restarted or was updated live. */
  async #forgetRevision({ namespace, name, uid }: VmiView): Promise<void> {
    const patch = { metadata: { uid, labels: { [REVISION_LABEL]: null } } };
    const patched = await ignoreStale(
      this.#in.client.patch(VirtualMachineInstances, { namespace, name }, 'merge', patch, {
        signal: cancellationSignal(),
      }),
    );
    this.#note({ vmis: patched?.metadata.resourceVersion });
  }

  /** Returns the VM as it is after the write: its run strategy may have changed. */
  async #write(
    pool: StoredPool,
    vm: Stored<VirtualMachine>,
    own: VmiView | undefined,
    right: RightVm | undefined,
  ): Promise<VmView> {
    const { client, key, startedAt } = this.#in;
    const { target, merged } = await this.#targets.targetOf(pool, vm, right);
    if (mergePatch(vm, merged) === null) return vmView(vm);
    // Before the write: a VM whose disks can't grow is not at the new revision.
    const deadline = startedAt + withDefaults(pool.spec).rollout.progressDeadlineSeconds * 1000;
    await growDisks(client, key.namespace, grownDisks(vm, merged), deadline, cancellationSignal());
    if (right?.isVmiOld === true) await this.#forgetRevision(own!);
    const written = await this.#writer.update(pool, { before: vm, after: merged, made: target });
    if (written === undefined) return vmView(vm);
    this.#vms = later(this.#vms, written.metadata.resourceVersion);
    if (right !== undefined) refuseDrift(written, target);
    return vmView(written);
  }

  /** If the VMI needs no restart, gives it the new labels and annotations at once, and with them the revision. */
  async #label(vmi: VmiView): Promise<void> {
    const { revision: from, name, uid } = vmi;
    const { client, cache, revisions, key, template } = this.#in;
    const before = from === null ? undefined : await revisions.find(key, from);
    if (before === undefined || disruptionBetween(before, template, cache.rolloutStrategy()) !== 'None') return;
    const patch = { metadata: { uid, ...vmiMetadataPatch(key.name, before, template, vmi) } };
    const patched = await ignoreStale(
      client.patch(VirtualMachineInstances, { namespace: key.namespace, name }, 'merge', patch),
    );
    this.#vmis = later(this.#vmis, patched?.metadata.resourceVersion);
  }
}
