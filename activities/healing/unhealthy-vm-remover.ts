import { setTimeout as sleep } from 'node:timers/promises';
import { cancellationSignal } from '@temporalio/activity';
import { REMOVING_ANNOTATION, REMOVING_TO_HEAL } from '../../api/labels-and-annotations.ts';
import type { KubeObject, Stored } from '../../api/objects.ts';
import { PersistentVolumeClaims, VirtualMachineInstances, VirtualMachines } from '../../api/resources.ts';
import { withDefaults, type HealingRules } from '../../api/rules/pool-defaults.ts';
import { vmView, type VirtualMachine } from '../../decisions/from-object/vm.ts';
import { vmiView, type VirtualMachineInstance } from '../../decisions/from-object/vmi.ts';
import type { UnhealthyVm } from '../../decisions/healing/attempt.ts';
import { neverRan } from '../../decisions/healing/never-ran.ts';
import { skippedSince } from '../../decisions/healing/state.ts';
import { healthOf, whyKept } from '../../decisions/healing/vm-health.ts';
import { whyLeftAlone } from '../../decisions/health/excused.ts';
import { pick } from '../../decisions/lib/json.ts';
import { isOwnedBy } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { isRefusal, ignoreNotFound, ignoreStale } from '../../kubernetes/errors.ts';
import { whileFresh, type LastCheck } from '../../kubernetes/retry.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { checkDeletion } from '../disks/check-deletion.ts';
import { keepSharedDisks } from '../disks/shared-disks.ts';
import { recordEvent } from '../lib/events.ts';
import { patchKept } from '../lib/refuse-unkept.ts';
import { livePool } from '../owners/live-owner.ts';
import { liveVm } from '../owners/live-vm.ts';
import type { PoolKey } from '../owners/owner-key.ts';
import { lastEvents } from './last-events.ts';

/**
 * KubeVirt writes to a VM that fails again and again: this many deletions may meet a VM that has changed since it was
 * read.
 */
const TRIES = 10;
/** How long a worker waits to learn that a VMI has ended, and how often it checks. */
const BEHIND_MS = 2_000;
const LOOK_AGAIN_MS = 50;
/** How far the clock of Temporal may be ahead of the API server's, in milliseconds. */
const CLOCK_SKEW_MS = 60_000;

export type Removal =
  /** The VM is terminating or deleted. `events`: what Kubernetes last reported about it, oldest first. */
  | { end: 'Removed'; events: string[]; keptDisks: boolean }
  /** The VM should no longer be replaced. */
  | { end: 'Kept'; message: string }
  /** The API server refuses: because of a policy, a protection, a permission. */
  | { end: 'Refused'; message: string };

export interface UnhealthyVmRemoverOptions {
  client: KubeClient;
  cache: ClusterCache;
  /** Called when an unhealthy VM of this pool is being removed, to be created again. */
  onReplaced?: (pool: PoolKey) => void;
}

/** Removes unhealthy VMs, after checking again, right before each removal, that the VM is still unhealthy. */
export class UnhealthyVmRemover {
  readonly #client: KubeClient;
  readonly #cache: ClusterCache;
  readonly #onReplaced: UnhealthyVmRemoverOptions['onReplaced'];

  constructor({ client, cache, onReplaced }: UnhealthyVmRemoverOptions) {
    this.#client = client;
    this.#cache = cache;
    this.#onReplaced = onReplaced;
  }

  async remove(key: PoolKey, unhealthyVm: UnhealthyVm, at: number): Promise<Removal> {
    for (let tries = 1; tries <= TRIES; tries++) {
      const removal = await this.#tryToRemove(key, unhealthyVm, at);
      if (removal !== null) return removal;
    }
    throw new Error(`${unhealthyVm.name} changes too often to be deleted safely`);
  }

  /** Resolves to null if the VM or its VMI has changed meanwhile: it must be looked at again. */
  async #tryToRemove(key: PoolKey, unhealthyVm: UnhealthyVm, at: number): Promise<Removal | null> {
    const { name, uid, attempt, message } = unhealthyVm;
    const vm = await liveVm(this.#client, { namespace: key.namespace, name });
    if (vm === undefined || vm.metadata.uid !== uid) return { end: 'Removed', events: [], keptDisks: false };
    const judge = () => this.#judge(vm, key, unhealthyVm, at);
    const judged = await judge();
    if (judged.do === 'keep') return { end: 'Kept', message: judged.message };
    if (judged.do === 'nothing') return this.#removed(vm, vmView(vm).removing);
    const keepDisks = judged.rules.preserveStorage ?? (await this.#mayHaveData(vm, unhealthyVm, judged));
    try {
      if (!(await this.#removeIf(judge, judged, { vm, keepDisks }))) return null;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return { end: 'Refused', message: error.message };
    }
    this.#onReplaced?.(key);
    const note = `Replaces ${name} ${keepDisks ? 'and keeps' : 'with'} its disks (replacement ${attempt}): ${message}`;
    await recordEvent(this.#client, key, { type: 'Warning', reason: 'Healing', action: 'Heal', note });
    return this.#removed(vm, keepDisks);
  }

  async #removed(vm: Stored<VirtualMachine>, keptDisks: boolean): Promise<Removal> {
    return { end: 'Removed', events: await lastEvents(this.#client, vm), keptDisks };
  }

  async #mayHaveData(vm: Stored<VirtualMachine>, { mayHaveData }: UnhealthyVm, judged: Doomed): Promise<boolean> {
    return mayHaveData || !(await this.#hasNeverRun(vm, judged)) || (await this.#hasOlderDisk(vm));
  }

  /** Checks again right before acting: the plan may be old. */
  async #judge(vm: Stored<VirtualMachine>, key: PoolKey, unhealthyVm: UnhealthyVm, at: number): Promise<Judgement> {
    const pool = await livePool(this.#client, key);
    const view = this.#cache.vmView(vm);
    if (!isOwnedBy(view, 'VirtualMachinePool', key)) return { do: 'keep', message: 'it has left the pool' };
    if (view.deleting || view.removing) return { do: 'nothing' };
    const spec = pool === undefined || pool.metadata.deletionTimestamp !== undefined ? null : withDefaults(pool.spec);
    const rules = spec?.autohealing ?? null;
    if (spec === null || rules === null) return { do: 'keep', message: 'autohealing is off' };
    // The attempt may be one of an earlier Temporal, which knows nothing of that.
    const skipped = skippedSince(pool!.status?.healing, view, at);
    if (skipped !== null) return { do: 'keep', message: skipped };
    const stored = await ignoreNotFound(this.#client.get<VirtualMachineInstance>(VirtualMachineInstances, view));
    const live = stored && vmiView(stored);
    const vmi = live?.vmUid === view.uid ? this.#cache.withSurroundings(live) : undefined;
    const blocked = whyLeftAlone(view, vmi);
    if (blocked !== null) return { do: 'keep', message: blocked };
    // Not before the removal was asked for, whatever this machine's clock says; nor at a time that is still to come.
    const now = Math.max(Date.now(), Math.min(at, this.#client.clock.now() + CLOCK_SKEW_MS));
    const health = healthOf({
      vm: view,
      vmi,
      ...pick(unhealthyVm, ['earlyExits', 'pauseEndedAt']),
      failingSince: unhealthyVm.failingSince == null ? null : Math.max(unhealthyVm.failingSince, view.createdAt),
      hasRun: view.notYetRun === null || unhealthyVm.attempt > 1,
      hasRunItself: view.notYetRun === null,
      nodeCounts: () => this.#cache.nodes.count(),
      rules,
      now,
    });
    if (!health.unhealthy) return { do: 'keep', message: whyKept(health) };
    const vmiVersion = stored?.metadata.resourceVersion;
    return { do: 'remove', rules, vmi, vmiVersion, minReadyMs: spec.rollout.minReadySeconds * 1000 };
  }

  /**
   * Removes the VM if it is still judged so, and its VMI is unchanged. Finding out whether the disks hold data may take
   * seconds, in which a VMI can become ready before its VM says so. Resolves to false if it must be looked at again.
   */
  #removeIf(
    judge: () => Promise<Judgement>,
    before: Doomed,
    { vm, keepDisks }: { vm: Stored<VirtualMachine>; keepDisks: boolean },
  ): Promise<boolean> {
    return whileFresh(async (lastCheck) => {
      const now = await judge();
      if (now.do !== 'remove' || now.vmiVersion !== before.vmiVersion) return false;
      if (now.rules.preserveStorage !== before.rules.preserveStorage) return false;
      return (await ignoreStale(this.#delete(vm, keepDisks, lastCheck))) !== undefined;
    });
  }

  async #delete(vm: Stored<VirtualMachine>, keepDisks: boolean, lastCheck: LastCheck): Promise<unknown> {
    const { namespace, name, uid, resourceVersion } = vm.metadata;
    if (!keepDisks) {
      await keepSharedDisks({ client: this.#client, cache: this.#cache }, vmView(vm));
      return this.#client.delete(
        VirtualMachines,
        { namespace, name },
        { uid, resourceVersion, propagationPolicy: 'Foreground', lastCheck },
      );
    }
    await checkDeletion(this.#client, { namespace, name, uid, resourceVersion });
    const patch = {
      metadata: { resourceVersion, annotations: { [REMOVING_ANNOTATION]: REMOVING_TO_HEAL } },
      spec: { running: null, runStrategy: 'Halted' },
    };
    return patchKept(this.#client, VirtualMachines, { namespace, name }, patch, { lastCheck });
  }

  /**
   * Resolves to true if this worker is certain of it. Waits a moment if KubeVirt reports a failed VMI that this worker
   * has not seen end yet.
   */
  async #hasNeverRun(vm: Stored<VirtualMachine>, { vmi, minReadyMs }: Doomed): Promise<boolean> {
    const view = vmView(vm);
    for (let waited = 0; ; waited += LOOK_AGAIN_MS) {
      const verdict = neverRan({
        vm: view,
        vmi,
        vmiHistory: this.#cache.vmiHistories.of(view),
        minReadyMs,
        now: Date.now(),
      });
      if (verdict !== 'behind' || waited >= BEHIND_MS) return verdict === 'certain';
      await sleep(LOOK_AGAIN_MS, undefined, { signal: cancellationSignal() });
    }
  }

  /** Resolves to true if a disk is older than the VM itself: an earlier VM of the same name has left it. */
  async #hasOlderDisk({ metadata: { namespace, creationTimestamp }, spec }: Stored<VirtualMachine>): Promise<boolean> {
    for (const { metadata } of spec?.dataVolumeTemplates ?? []) {
      if (metadata?.name === undefined) continue;
      const claim = await ignoreNotFound(
        this.#client.get<KubeObject>(PersistentVolumeClaims, { namespace, name: metadata.name }),
      );
      if (claim !== undefined && Date.parse(claim.metadata.creationTimestamp) < Date.parse(creationTimestamp))
        return true;
    }
    return false;
  }
}

type Judgement = Doomed | { do: 'keep'; message: string } /** It is already being removed. */ | { do: 'nothing' };

/** The VM is to be removed, by these rules. */
interface Doomed {
  do: 'remove';
  rules: HealingRules;
  vmi: VmiView | undefined;
  /** Resource version of the VMI with the VM's name, whatever its owner. */
  vmiVersion: string | undefined;
  minReadyMs: number;
}
