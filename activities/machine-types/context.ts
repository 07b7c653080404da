import type { OwningPool } from '../../decisions/disruption-budget/restart-budget.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { transitionRules, type TransitionRules } from '../../decisions/machine-types/criteria.ts';
import { TransitionNeeds, type Fleet } from '../../decisions/machine-types/needs.ts';
import type { Transition, TransitionResult } from '../../decisions/machine-types/transition.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import type { CacheChange } from '../cache/objects/cache-change.ts';
import { snapshotOfVms } from '../power/vm-power.ts';
import { looksTheSame, ownerName, vmisOn } from '../watch/affected-pools.ts';
import { isTransitionId, OtherTransitions } from './other-transitions.ts';

/** After so long without an activity, in milliseconds, what is known of a transition is dropped. */
const KEPT_MS = 300_000;

/** What every activity of a transition receives. */
export interface TransitionRequest {
  ref: { cluster: string; id: string };
  transition: Transition;
  /** What dry runs have shown so far. */
  results: TransitionResult[];
  minVersions: ResourceVersions;
}

/** VMs and pools from this worker's caches, in the light of a transition. */
export interface TransitionContext {
  rules: TransitionRules;
  snapshot: Fleet;
  /** Kept up to date until the activity ends. */
  needs: TransitionNeeds;
  /** Returns whether the change concerns the transition. */
  takesIn: (change: CacheChange) => boolean;
}

/** What this worker knows of transitions, which it keeps from one activity to the next. */
export class TransitionContexts {
  readonly others = new OtherTransitions();
  readonly #cache: ClusterCache;
  readonly #fleet: Fleet;
  readonly #known = new Map<string, KnownTransition>();

  constructor(cache: ClusterCache) {
    this.#cache = cache;
    this.#fleet = fleetOf(cache);
  }

  /** What is known about other transitions is not older than `ageMs`, in milliseconds. */
  async of(request: Omit<TransitionRequest, 'minVersions'>, ageMs?: number): Promise<TransitionContext> {
    const { id } = request.ref;
    const known = this.#known.get(id) ?? this.#begin(id);
    // Also for marks that VMs get from other transitions meanwhile: a transition that was not looked up yet is assumed
    // to be running.
    const others = [...known.needsFor(request).others].filter(isTransitionId);
    await this.others.refresh(others, ageMs);
    const needs = known.needsFor(request);
    return { rules: needs.rules, snapshot: this.#fleet, needs, takesIn: known.takesIn };
  }

  #begin(id: string): KnownTransition {
    const known = new KnownTransition(this.#cache, this.#fleet, this.others);
    this.#known.set(id, known);
    const unsubscribe = this.#cache.subscribe((change) => {
      if (Date.now() - known.usedAt <= KEPT_MS) return void known.takesIn(change);
      unsubscribe();
      this.#known.delete(id);
    });
    return known;
  }
}

class KnownTransition {
  readonly #cache: ClusterCache;
  readonly #fleet: Fleet;
  readonly #others: OtherTransitions;
  #needs: TransitionNeeds | undefined;
  #results = '';
  /** What was known of other transitions as VMs were judged. */
  readonly #ran = new Map<string, boolean>();
  #last: { change: CacheChange; isConcerned: boolean } | undefined;
  usedAt = 0;

  constructor(cache: ClusterCache, fleet: Fleet, others: OtherTransitions) {
    this.#cache = cache;
    this.#fleet = fleet;
    this.#others = others;
  }

  /** Judges all VMs again if something was learnt that concerns them all. */
  needsFor({ ref, transition, results }: Omit<TransitionRequest, 'minVersions'>): TransitionNeeds {
    this.usedAt = Date.now();
    const known = JSON.stringify(results);
    const isNews = [...this.#ran].some(([id, ran]) => this.#others.runs(id) !== ran);
    if (this.#needs !== undefined && this.#results === known && !isNews) return this.#needs;
    this.#ran.clear();
    const runs = (id: string): boolean => isTransitionId(id) && this.#runs(id);
    const rules = transitionRules({ ref, transition, results, othersRunning: { has: runs } });
    this.#needs = new TransitionNeeds(rules, this.#fleet);
    this.#results = known;
    return this.#needs;
  }

  /** Takes a change in once, whoever tells it first. */
  readonly takesIn = (change: CacheChange): boolean => {
    if (this.#last?.change !== change) this.#last = { change, isConcerned: this.#concerns(change) };
    return this.#last.isConcerned;
  };

  #concerns(change: CacheChange): boolean {
    const needs = this.#needs;
    if (needs === undefined) return true;
    if (change.kind === 'pool') return needs.poolChanged(ownerName((change.after ?? change.before)!));
    if (change.kind === 'node')
      return vmisOn(change, this.#cache).filter((vmi) => needs.vmChanged(`${vmi.namespace}/${vmi.name}`)).length > 0;
    if (change.kind !== 'vm' && change.kind !== 'vmi') return false;
    const { namespace, name } = (change.after ?? change.before)!;
    const before = change.kind === 'vm' ? change.before : undefined;
    return !looksTheSame<object>(change.before, change.after) && needs.vmChanged(`${namespace}/${name}`, before);
  }

  #runs(id: string): boolean {
    const runs = this.#others.runs(id);
    this.#ran.set(id, runs);
    return runs;
  }
}

function fleetOf(cache: ClusterCache): Fleet {
  const owning = (pool: StoredPool): OwningPool => ({
    pool,
    vms: () => cache.vms.ownedBy('VirtualMachinePool', pool.metadata),
  });
  return {
    ...snapshotOfVms(cache),
    vms: () => cache.vms.values(),
    pools: () => [...cache.pools.values()].map(owning),
    poolAt: (key) => {
      const pool = cache.pools.get(key);
      return pool === undefined ? undefined : owning(pool);
    },
  };
}
