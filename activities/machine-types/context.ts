import type { OwningPool } from '../../decisions/disruption-budget/restart-budget.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { TransitionNeeds, type Fleet } from '../../decisions/machine-types/needs.ts';
import { transitionRules, type TransitionRules } from '../../decisions/machine-types/transition-rules.ts';
import type { Transition, TransitionResult } from '../../decisions/machine-types/transition.ts';
import type { OperationRef } from '../../decisions/operations/ref.ts';
import { transitionOf } from '../../decisions/operations/transition.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { looksTheSame } from '../cache/looks-the-same.ts';
import type { CacheChange } from '../cache/objects/cache-change.ts';
import type { Authority } from '../operations/authority.ts';
import { includedIn } from '../operations/scope.ts';
import { ownerName } from '../owners/owner-key.ts';
import { snapshotOfVms } from '../power/snapshot-of-vms.ts';
import { OtherTransitions } from './other-transitions.ts';

/** After this time without an activity, in milliseconds, what is known of a transition is dropped. */
const KEPT_MS = 300_000;

/** What every activity of a transition receives. */
export interface TransitionRequest {
  /** What it is carried out for: the object says what is to be done. */
  operation: OperationRef;
  /** With this, VMs in progress are followed once the operation is deleted: nothing else is done then. */
  transition: Transition;
  /** What dry runs have shown so far. */
  results: TransitionResult[];
  minVersions: ResourceVersions;
}

/** VMs and pools from this worker's caches, in the light of a transition. */
export interface TransitionContext {
  rules: TransitionRules;
  authority: Authority;
  snapshot: Fleet;
  /** Kept up to date until the activity ends. */
  needs: TransitionNeeds;
  /** Returns whether the change concerns the transition. */
  concerns: (change: CacheChange) => boolean;
}

/** What this worker knows of transitions, which it keeps from one activity to the next. */
export class TransitionContexts {
  readonly others: OtherTransitions;
  readonly #cache: ClusterCache;
  readonly #fleet: Fleet;
  readonly #known = new Map<string, KnownTransition>();

  constructor(cache: ClusterCache) {
    this.#cache = cache;
    this.#fleet = fleetOf(cache);
    this.others = new OtherTransitions(cache);
  }

  async of(request: Omit<TransitionRequest, 'minVersions'>, authority: Authority): Promise<TransitionContext> {
    const { uid } = request.operation;
    const known = this.#known.get(uid) ?? this.#begin(uid);
    const { operation } = authority;
    const transition =
      operation === undefined ? request.transition : transitionOf(operation, includedIn(this.#cache, operation));
    const resolved = { ...request, transition };
    // Also for marks that VMs get from other transitions meanwhile: a transition that was not looked for yet is assumed
    // to be running.
    await this.others.refresh(known.needsFor(resolved).others);
    const needs = known.needsFor(resolved);
    return { rules: needs.rules, authority, snapshot: this.#fleet, needs, concerns: known.concerns };
  }

  #begin(id: string): KnownTransition {
    const known = new KnownTransition(this.#cache, this.#fleet, this.others);
    this.#known.set(id, known);
    const unsubscribe = this.#cache.subscribe((change) => {
      if (Date.now() - known.usedAt <= KEPT_MS) return void known.concerns(change);
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
  #basis = '';
  /** What was known of other transitions as VMs were judged. */
  readonly #ran = new Map<string, string | undefined>();
  #last: { change: CacheChange; isConcerned: boolean } | undefined;
  usedAt = 0;

  constructor(cache: ClusterCache, fleet: Fleet, others: OtherTransitions) {
    this.#cache = cache;
    this.#fleet = fleet;
    this.#others = others;
  }

  /** Judges all VMs again if something was learnt that concerns them all. */
  needsFor({ operation, transition, results }: Omit<TransitionRequest, 'minVersions'>): TransitionNeeds {
    this.usedAt = Date.now();
    const known = JSON.stringify([transition, results]);
    const isNews = [...this.#ran].some(([id, ran]) => this.#others.nameOf(id) !== ran);
    if (this.#needs !== undefined && this.#basis === known && !isNews) return this.#needs;
    this.#ran.clear();
    const othersRunning = { get: (id: string) => this.#nameOf(id) };
    const rules = transitionRules({ ref: { id: operation.uid }, transition, results, othersRunning });
    this.#needs = new TransitionNeeds(rules, this.#fleet);
    this.#basis = known;
    return this.#needs;
  }

  /** Applies a change once, whatever reports it first. */
  readonly concerns = (change: CacheChange): boolean => {
    if (this.#last?.change !== change) this.#last = { change, isConcerned: this.#concerns(change) };
    return this.#last.isConcerned;
  };

  #concerns(change: CacheChange): boolean {
    const needs = this.#needs;
    if (needs === undefined) return true;
    // Another transition may have ended.
    if (change.kind === 'operation') return this.#ran.has((change.after ?? change.before)!.metadata.uid);
    if (change.kind === 'pool') return needs.poolChanged(ownerName((change.after ?? change.before)!));
    if (change.kind === 'node')
      return this.#cache.vmisByNode
        .of((change.after ?? change.before)!.name)
        .map((vmi) => needs.vmChanged(`${vmi.namespace}/${vmi.name}`))
        .includes(true);
    if (change.kind !== 'vm' && change.kind !== 'vmi') return false;
    const { namespace, name } = (change.after ?? change.before)!;
    const before = change.kind === 'vm' ? change.before : undefined;
    return !looksTheSame<object>(change.before, change.after) && needs.vmChanged(`${namespace}/${name}`, before);
  }

  #nameOf(id: string): string | undefined {
    const name = this.#others.nameOf(id);
    this.#ran.set(id, name);
    return name;
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
