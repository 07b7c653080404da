import { cancellationSignal } from '@temporalio/activity';
import { POWER_ANNOTATION } from '../../api/names.ts';
import type { Stored } from '../../api/objects.ts';
import { VirtualMachinePools, VirtualMachines } from '../../api/resources.ts';
import { claimedNames } from '../../decisions/disruption-budget/claims.ts';
import { namespacedName, type OwningPool, type VmsSnapshot } from '../../decisions/disruption-budget/restart-budget.ts';
import { isRestarting, liveVmi } from '../../decisions/health/availability.ts';
import { pick } from '../../decisions/lib/json.ts';
import { maxVersions, type ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { ACTION_LABELS, type PowerAction } from '../../decisions/power/action.ts';
import { powerNeed } from '../../decisions/power/need.ts';
import type { PowerOutcome, VmInProgress } from '../../decisions/power/outcome.ts';
import type { TakenVm } from '../../decisions/power/plan.ts';
import { isUntouched, noteOf } from '../../decisions/power/untouched.ts';
import type { VirtualMachine } from '../../decisions/views/from-object/vm.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import { isOwnedBy, type VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ActRefused, KubeError } from '../../kubernetes/errors.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { References } from '../configuration/references.ts';
import type { DisruptionClaims } from '../disruption-budget/disruption-claims.ts';
import { actInPlace, NO_PLACE, NoPlace, type Place } from '../disruption-budget/in-place.ts';
import { actOnVm } from '../disruption/act-on-vm.ts';
import { Refusals } from '../disruption/refusals.ts';
import { recordVmEvent } from '../lib/events.ts';
import { livePool } from '../owners/live-owner.ts';
import { liveVmWithVmi } from '../owners/live-vm.ts';
import { askKubeVirt } from './ask-kubevirt.ts';
import { migrateVm } from './migrate-vm.ts';
import { restartVm } from './restart-vm.ts';

const TRY_AGAIN_MS = 100;

const EVENT_REASONS = { Start: 'Started', Stop: 'Stopped', Restart: 'Restarted', Migrate: 'Migrating' } as const;

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
  /** UID or ID of what the VMs are acted on for: noted on them. */
  by: string;
  /** See `PowerNote`. */
  turn?: number;
  /** Note of the Events on the VMs. */
  note: string;
  /** Returns why the VM, as the API server has it, is not to be acted on any more; null if it is. */
  whyNotAnyMore: (vm: VmView, snapshot: Pick<VmsSnapshot, 'vmiOf' | 'poolOf'>) => string | null;
}

/** A VM that is to be acted on. */
export interface PowerVm {
  /** `namespace/name`. */
  name: string;
  /** UID that it was chosen by: of its VMI for a restart, else of the VM. */
  target: string;
  taken: TakenVm;
}

/** A VM as the API server has it, with its VMI and its pool. */
interface LiveVm {
  stored: Stored<VirtualMachine>;
  vm: VmView;
  vmi?: VmiView | undefined;
  owner?: OwningPool | undefined;
}

/**
 * Starts, stops, restarts or migrates VMs one by one, each decided again right before acting: only the chosen one, and
 * only if it still needs that and nothing stands in its way. Notes on the VM what it acts for, before it does, so that
 * nobody does it again for the same. For a restart or a migration, a place in the budget of the VM's pool is claimed
 * like every other disruption of the pool's VMs.
 */
export class VmPower {
  readonly #in: VmPowerOptions;
  readonly #references: References;
  readonly #refusals = new Refusals();
  #minVersions: ResourceVersions = {};

  constructor(options: VmPowerOptions) {
    this.#in = options;
    this.#references = new References(options.client, cancellationSignal());
  }

  /** What a cache must have reached to show what was done. */
  get minVersions(): ResourceVersions {
    return this.#minVersions;
  }

  /** When VMs that were refused may be tried again, in milliseconds since the epoch. */
  get times(): number[] {
    return this.#refusals.times;
  }

  /** Why the VM, or another of its pool, was refused a moment ago; null if it may be tried. */
  whyRefused(vm: VmView, now: number): string | null {
    return this.#refusals.whyNot(namespacedName(vm), now) ?? this.#refusals.whyNot(vm.owner?.uid ?? '', now);
  }

  /** Whether the VM was acted on for that already, as the VM is. */
  hasActedOn(vm: VmView, vmi: VmiView | undefined): boolean {
    return vm.power?.by === this.#in.by && !isUntouched(vm.power, vm, vmi);
  }

  /** Returns what was noted on the VM for that; without a note, it is another VM. */
  begunWith(key: string, vm: VmView | undefined, since: number): VmInProgress {
    return vm?.power?.by === this.#in.by ? { vm: key, uid: vm.uid, ...vm.power } : { vm: key, uid: '', since };
  }

  /** Returns null if the VM is now waited for. Throws transient errors, for the caller to retry. */
  async take(held: PowerVm, begun: VmInProgress): Promise<PowerOutcome | NoPlace | null> {
    const { since, wasDown } = begun;
    const failed = ({ message }: Error): PowerOutcome => ({
      vm: held.name,
      end: 'Failed',
      why: message,
      since,
      ...(wasDown === true && { wasDown }),
    });
    return actOnVm<PowerOutcome | NoPlace | null, PowerOutcome>(
      () => this.#take(held, begun),
      failed,
      (tries) => TRY_AGAIN_MS * tries,
    );
  }

  async #take({ name: key, target }: PowerVm, begun: VmInProgress): Promise<NoPlace | null> {
    const { action, client, note } = this.#in;
    const { stored, vm, vmi, owner } = await this.#read(key);
    if (vm !== undefined && this.hasActedOn(vm, vmi)) {
      // By an earlier attempt of this activity, or by a call whose answer was lost.
      this.#minVersions = maxVersions(this.#minVersions, { vms: vm.resourceVersion });
      return null;
    }
    const refused = (why: string, budget = key): NoPlace => {
      this.#refusals.note(budget, why);
      return new NoPlace(why);
    };
    const need = powerNeed(action, { target, vm, vmi, owner });
    if (stored === undefined || vm === undefined || need.need === 'nothing' || isAsked(action, vm, vmi))
      return refused('somebody else has done it');
    if (need.need !== 'act') return refused(need.why);
    const why = this.#in.whyNotAnyMore(vm, { vmiOf: () => vmi, poolOf: () => owner });
    if (why !== null) return refused(why);
    if (action === 'Restart') await this.#references.refuseRestart(stored, vmi);
    const done = await this.#act({ stored, vm, vmi, owner }, begun);
    if (done instanceof NoPlace) return refused(done.whyNot, vm.owner?.uid);
    this.#minVersions = maxVersions(this.#minVersions, done);
    await recordVmEvent(client, vm, { type: 'Normal', reason: EVENT_REASONS[action], action, note });
    return null;
  }

  /** A restart or a migration takes a place in the budget of the VM's pool, if it has one. */
  async #act({ vm, vmi, owner }: LiveVm, begun: VmInProgress): Promise<ResourceVersions | NoPlace> {
    const { action, client, places } = this.#in;
    if (action === 'Migrate')
      return migrateVm({ client, places, owner }, await this.#note(vm, vmi, begun, NO_PLACE), vmi!, begun);
    const act = async (place: Place): Promise<ResourceVersions> => {
      const noted = await this.#note(vm, vmi, begun, place);
      if (action !== 'Restart') return orRefused(askKubeVirt(client, noted, ACTION_LABELS[action].verb));
      return orRefused(restartVm(client, noted, vmi!, place));
    };
    if (action !== 'Restart' || owner === undefined) return act(NO_PLACE);
    const { namespace, name, uid } = owner.pool.metadata;
    return actInPlace(places, { namespace, name, uid }, { vm, vmi }, async (place) => ({
      isDone: true,
      value: await act(place),
    }));
  }

  /** Notes on the VM what is about to be done, unless the VM has changed since it was read. */
  async #note(vm: VmView, vmi: VmiView | undefined, begun: VmInProgress, { lastCheck }: Place): Promise<VmView> {
    const { client, cache } = this.#in;
    const { namespace, name, uid, resourceVersion } = vm;
    const annotations = { [POWER_ANNOTATION]: JSON.stringify(noteOf(pick(this.#in, ['by', 'turn']), begun, vm, vmi)) };
    const patch = { metadata: { uid, resourceVersion, annotations } };
    const signal = cancellationSignal();
    return cache.vmView(
      await client.patch<VirtualMachine>(VirtualMachines, { namespace, name }, 'merge', patch, { signal, lastCheck }),
    );
  }

  /** Returns the VM, its VMI and its pool as the API server has them now. */
  async #read(key: string): Promise<Partial<LiveVm>> {
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
}

/** Reports whether KubeVirt was asked for that before, and has not done it yet. */
const isAsked = (action: PowerAction, vm: VmView, vmi: VmiView | undefined): boolean =>
  isRestarting(vm, vmi) && (action !== 'Stop' || liveVmi(vmi) === undefined);

/** KubeVirt also answers 500 if it refuses: what it repeats after several tries is its last word. */
const orRefused = <T>(call: Promise<T>): Promise<T> =>
  call.catch((error: unknown) => {
    throw error instanceof KubeError && error.status === 500 ? new ActRefused('Conflict', error.message) : error;
  });
