import { cancellationSignal } from '@temporalio/activity';
import type { Stored } from '../../api/objects.ts';
import { VirtualMachinePools } from '../../api/resources.ts';
import { isRestarting, liveVmi } from '../../decisions/disruption-budget/availability.ts';
import { claimedNames } from '../../decisions/disruption-budget/claims.ts';
import {
  namespacedName,
  type Chosen,
  type OwningPool,
  type VmsSnapshot,
} from '../../decisions/disruption-budget/restart-budget.ts';
import { maxVersions, type ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { ACTION_LABELS, type PowerAction } from '../../decisions/power/action.ts';
import { roomFor } from '../../decisions/power/allowance.ts';
import { powerNeed } from '../../decisions/power/need.ts';
import type { PowerOutcome } from '../../decisions/power/outcome.ts';
import type { VirtualMachine } from '../../decisions/views/from-object/vm.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import { isOwnedBy, type VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { KubeError } from '../../kubernetes/errors.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { References } from '../configuration/references.ts';
import { ActRefused, actInPlace, NO_PLACE, NoPlace, type Place } from '../disruption-budget/in-place.ts';
import type { DisruptionClaims } from '../disruption-budget/places.ts';
import { actOnVm } from '../disruption/act-on-vm.ts';
import { recordVmEvent } from '../lib/events.ts';
import { liveVmWithVmi } from '../lib/live-vm.ts';
import { livePool } from '../owners/live-owner.ts';
import { restartVm } from './restart-vm.ts';
import { askKubeVirt } from './subresource.ts';

const TRY_AGAIN_MS = 100;

/** Looks up VMs of any owner in this worker's caches. */
export const snapshotOfVms = (cache: ClusterCache): VmsSnapshot => ({
  vmOf: (key) => cache.vms.get(key),
  vmiOf: (vm) => cache.vmiOf(vm),
  poolOf: (vm) =>
    ownerOf(cache, vm, vm.owner === null ? undefined : cache.pools.get(`${vm.namespace}/${vm.owner.name}`)),
});

function ownerOf(cache: ClusterCache, vm: VmView, pool: StoredPool | undefined): OwningPool | undefined {
  if (pool === undefined || !isOwnedBy(vm, 'VirtualMachinePool', pool.metadata)) return undefined;
  const vms = (): VmView[] => cache.vms.ownedBy('VirtualMachinePool', pool.metadata);
  return { pool, vms, claimed: () => claimedNames({ pool, vms: vms(), vmiOf: (vm) => cache.vmiOf(vm) }, Date.now()) };
}

export interface VmPowerOptions {
  client: KubeClient;
  cache: ClusterCache;
  places: DisruptionClaims;
  action: PowerAction;
  chosen: Chosen;
  /** VMs that the limit of a restart applies to, by `namespace/name`; if absent, all chosen VMs. */
  counted?: Iterable<string>;
  atOnce: number;
  /** VMs that are already in progress, by `namespace/name`. */
  others: string[];
  /** Note of the Events on the VMs. */
  note: string;
  /** Returns why the VM, as the API server has it, is not to be acted on any more; null if it is. */
  whyNotAnyMore?: (vm: VmView, snapshot: Pick<VmsSnapshot, 'vmiOf' | 'poolOf'>) => string | null;
}

/** A VM as the API server has it, with its VMI and its pool; nothing if there is no VM of that name. */
interface FoundVm {
  stored?: Stored<VirtualMachine>;
  vm?: VmView;
  vmi?: VmiView;
  owner?: OwningPool | undefined;
}

/**
 * Starts, stops or restarts VMs one by one, each decided again right before acting: only the chosen one, only if it
 * still needs that and nothing stands in its way, and only while the limits allow it.
 *
 * The run's own limit is counted here; for a restart, a place in the budget of the VM's pool is claimed like every
 * other disruption of the pool's VMs.
 */
export class VmPower {
  readonly #in: VmPowerOptions;
  readonly #references: References;
  /** VMs that are in progress, and not known to be done. */
  readonly #acting: Set<string>;
  #minVersions: ResourceVersions = {};

  constructor(options: VmPowerOptions) {
    this.#in = options;
    this.#references = new References(options.client, cancellationSignal());
    this.#acting = new Set(options.others);
  }

  /** What a cache must have reached to show what was done. */
  get minVersions(): ResourceVersions {
    return this.#minVersions;
  }

  /** Returns null if the VM is now waited for. Throws transient errors, for the caller to retry. */
  async take(key: string): Promise<PowerOutcome | null> {
    const failed = ({ message }: Error): PowerOutcome => {
      this.#acting.delete(key);
      return { vm: key, end: 'Failed', why: message };
    };
    return actOnVm(
      () => this.#take(key),
      failed,
      (tries) => TRY_AGAIN_MS * tries,
    );
  }

  async #take(key: string): Promise<PowerOutcome | null> {
    const { action, chosen, client, note } = this.#in;
    const { stored, vm, vmi, owner } = await this.#read(key);
    const need = powerNeed(action, { target: chosen.get(key)!, vm, vmi, owner });
    if (stored === undefined || vm === undefined || need.need === 'nothing' || isAsked(action, vm, vmi)) {
      // It is done already, perhaps by an earlier attempt of this activity whose result was lost.
      this.#minVersions = maxVersions(this.#minVersions, { vms: vm?.resourceVersion });
      this.#acting.add(key);
      return null;
    }
    if (need.need !== 'act') return { vm: key, end: 'Deferred', why: need.why };
    const why = this.#in.whyNotAnyMore?.(vm, { vmiOf: () => vmi, poolOf: () => owner }) ?? this.#whyNoRoom(vm, vmi);
    if (why !== null) return { vm: key, end: 'Deferred', why };
    if (action === 'Restart') await this.#references.refuseRestart(stored, vmi);
    // If the answer is lost, the VM counts until its state is known.
    this.#acting.add(key);
    const done = await this.#act(vm, vmi, owner);
    if (done instanceof NoPlace) {
      this.#acting.delete(key);
      return { vm: key, end: 'Deferred', why: done.whyNot };
    }
    this.#minVersions = maxVersions(this.#minVersions, done);
    await recordVmEvent(client, vm, { type: 'Normal', reason: ACTION_LABELS[action].done, action, note });
    return null;
  }

  /** A restart takes a place in the budget of the VM's pool, if it has one. */
  async #act(vm: VmView, vmi: VmiView | undefined, owner: OwningPool | undefined): Promise<ResourceVersions | NoPlace> {
    const { action, client, places } = this.#in;
    if (action !== 'Restart') return orRefused(askKubeVirt(client, vm, ACTION_LABELS[action].verb));
    const restart = (place: Place): Promise<ResourceVersions> => orRefused(restartVm(client, vm, vmi!, place));
    if (owner === undefined) return restart(NO_PLACE);
    const { namespace, name, uid } = owner.pool.metadata;
    return actInPlace(places, { namespace, name, uid }, { vm, vmi }, async (place) => ({
      isDone: true,
      value: await restart(place),
    }));
  }

  /** Returns the VM, its VMI and its pool as the API server has them now. */
  async #read(key: string): Promise<FoundVm> {
    const { client, cache } = this.#in;
    const [namespace = '', name = ''] = key.split('/');
    const signal = cancellationSignal();
    const { vm: stored, vmi: live } = await liveVmWithVmi(client, { namespace, name }, signal);
    if (stored === undefined) return {};
    const vm = cache.vmView(stored);
    const own = live === undefined ? {} : { vmi: cache.withSurroundings(live) };
    if (vm.owner?.kind !== VirtualMachinePools.kind) return { stored, vm, ...own };
    // KubeVirt's own pools have the same kind: the UID tells them apart.
    const pool = await livePool(client, { namespace, ...vm.owner }, signal);
    return { stored, vm, ...own, owner: ownerOf(cache, vm, pool) };
  }

  /**
   * Returns why the run's own limit is reached. The VM itself counts as it is now: it may have come up since it was
   * cached.
   */
  #whyNoRoom(vm: VmView, vmi: VmiView | undefined): string | null {
    const { action, cache, chosen, counted = [...chosen.keys()], atOnce } = this.#in;
    const { vmOf, vmiOf } = snapshotOfVms(cache);
    const snapshot: VmsSnapshot = {
      vmOf: (key) => (key === namespacedName(vm) ? vm : vmOf(key)),
      vmiOf: (one) => (one === vm ? vmi : vmiOf(one)),
      poolOf: () => undefined,
    };
    return roomFor({ action, counted, snapshot, inProgress: this.#acting, atOnce, now: Date.now() }).whyNot(vm);
  }
}

/** Reports whether KubeVirt was asked for that before, and has not done it yet. */
const isAsked = (action: PowerAction, vm: VmView, vmi: VmiView | undefined): boolean =>
  isRestarting(vm, vmi) && (action !== 'Stop' || liveVmi(vmi) === undefined);

/** KubeVirt also answers 500 if it refuses: what it repeats after several tries is its last word. */
const orRefused = <T>(call: Promise<T>): Promise<T> =>
  call.catch((error: unknown) => {
    throw error instanceof KubeError && error.status === 500 ? new ActRefused(error.message) : error;
  });
