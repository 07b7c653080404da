import { setTimeout as sleep } from 'node:timers/promises';
import type { BudgetClaim } from '../../api/budgets/budget.ts';
import type { DisruptedVm } from '../../api/pool/pool.ts';
import { asks } from '../../decisions/disruption-budget/any-vms/allowed.ts';
import { isFree } from '../../decisions/disruption-budget/any-vms/counts.ts';
import { BY_KUBEVIRT, Places, type PlaceRequest } from '../../decisions/disruption-budget/any-vms/places.ts';
import { ACT_WITHIN_MS } from '../../decisions/disruption-budget/claims.ts';
import type { StoredBudget } from '../../decisions/disruption-budget/stored-budget.ts';
import type { Refusal } from '../../decisions/disruption/held.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { remembered } from '../cache/remembered.ts';
import { serverLost } from '../lib/shutdown.ts';
import type { PoolKey } from '../owners/owner-key.ts';
import { BudgetStore } from './budget-store.ts';
import { BudgetTallies } from './budget-tallies.ts';
import { ClaimQueues, type Place } from './claim-queues.ts';
import { PoolStore } from './pool-store.ts';
import { withoutPlace } from './without-place.ts';

/** How many statuses are written at once. */
const MOST_REFRESHED = 10;
/** A status that was written so lately is not brought up to date yet. */
const FRESH_MS = 1_000;
/**
 * How often a worker begins to claim at most: what asks meanwhile is claimed together, by one write to each budget. VMs
 * that come back one by one would cost a write for each of their budgets.
 */
const TOGETHER_MS = 1_000;

const PARTIAL = 'this worker knows only some namespaces: it begins anew, to count the VMs of all';

/** Places in all budgets of a VM: it may be disrupted. */
export interface DisruptionClaim {
  /** The pool as it was when the claim was made; null if the act needs no place in the budget of a pool. */
  pool: StoredPool | null;
  /** False once it is too late to act on the claim: it must be made again. */
  isFresh: () => boolean;
  /** Whether the claim is for all budgets that a VM with these labels is under now. */
  covers: (vm: Pick<VmView, 'namespace' | 'ownLabels'>) => boolean;
  /** Gives all places back, because the VM is not disrupted after all; `pool`: only the one in the pool's budget. */
  release: (only?: 'pool') => Promise<void>;
}

/** What is to be disrupted. `pool`: whose budget the act needs, in addition to all budgets that select the VM. */
export interface DisruptionRequest extends PlaceRequest {
  pool: PoolKey | null;
}

/** What budgets say at one time. */
export interface BudgetLook {
  /**
   * Why a claim would be refused; null if it may not be. `known`: why the caller does not ask the budget of this UID;
   * null if it does.
   */
  whyNot: (request: PlaceRequest, known?: (budget: string) => string | null) => Refusal | null;
}

type Answer = DisruptionClaim | Refusal;

/**
 * Places in all disruption budgets that a VM is under: budgets that select it, and the one of its pool. They are
 * claimed one after the other in one order for all workers, and given back if one has no room, so that nothing waits
 * while it holds a place.
 */
export class DisruptionClaims {
  readonly #cache: ClusterCache;
  readonly #tallies: BudgetTallies;
  readonly #store: BudgetStore;
  readonly #budgets: ClaimQueues<StoredBudget, BudgetClaim>;
  readonly #pools: ClaimQueues<StoredPool, DisruptedVm>;
  /** When outdated budgets were last refreshed, by their UIDs and by `performance.now()`. */
  readonly #refreshedAt = new Map<string, number>();
  /** When claims were last begun, by `performance.now()`. */
  #beganAt = -Infinity;
  /** Resolves when the next are. */
  #next: Promise<void> | undefined;

  constructor(client: KubeClient, cache: ClusterCache) {
    this.#cache = cache;
    this.#tallies = new BudgetTallies(cache);
    this.#store = new BudgetStore(client, cache, this.#tallies);
    this.#budgets = new ClaimQueues(client, cache, this.#store);
    this.#pools = new ClaimQueues(client, cache, new PoolStore(client, cache));
  }

  /** Whether there are any budgets that select VMs. */
  get areNeeded(): boolean {
    return this.#tallies.index.size > 0;
  }

  /** Claims a place in each budget of the VM, as the caller has seen it last. */
  claim(request: DisruptionRequest): Promise<Answer> {
    // A VM that serves nobody does not wait: it may serve by then.
    if (isFree(request.vm, request.vmi) || this.#askedBy(request.vm, request).length === 0) return this.#claim(request);
    // All that have waited together are claimed in one write, however few may act at once.
    return withoutPlace(this.#together().then(() => this.#claim(request)));
  }

  async #claim(request: DisruptionRequest): Promise<Answer> {
    // Its caches may be long out of date, and lack budgets.
    if (this.#cache.lost.aborted) throw serverLost();
    const refusal = this.look().whyNot(request);
    if (refusal !== null) return refusal;
    const budgets = this.#askedBy(request.vm, request);
    const held: Place<unknown>[] = [];
    let pool: Place<StoredPool> | null = null;
    const release = async (only?: 'pool'): Promise<void> => {
      const places = only === undefined ? held : [];
      await Promise.all([...places, ...(pool === null ? [] : [pool])].map((place) => place.release()));
    };
    try {
      for (const { metadata } of budgets) {
        const answer = await this.#budgets.claim(metadata, request);
        if (answer === 'Gone') continue;
        if ('message' in answer) return await this.#refused(answer, release);
        held.push(answer);
      }
      if (request.pool !== null) {
        const { uid } = request.pool;
        const answer = await this.#pools.claim(request.pool, ofPool(request));
        if (answer === 'Gone') return await this.#refused({ budget: uid, message: 'its pool is gone' }, release);
        if ('message' in answer) return await this.#refused(answer, release);
        pool = answer;
      }
      const since = Math.min(...held.map((place) => place.since), pool?.since ?? Infinity);
      const claimed = new Set(budgets.map(({ metadata }) => metadata.uid));
      return {
        pool: pool?.budget ?? null,
        isFresh: () => performance.now() - since < ACT_WITHIN_MS,
        covers: (now) => this.#askedBy(now, request).every(({ metadata }) => claimed.has(metadata.uid)),
        release,
      };
    } catch (error) {
      await Promise.allSettled(held.map((place) => place.release()));
      throw error;
    }
  }

  /** What the budgets that select VMs would answer now, by what this worker knows of them, without a call. */
  look(): BudgetLook {
    const now = Date.now();
    const places = remembered((uid: string): Places | null => {
      const budget = this.#tallies.index.get(uid);
      const known = budget && this.#budgets.known(budget.metadata);
      return known === undefined
        ? null
        : new Places(known, this.#tallies.tally(known), this.#budgets.knownClaims(known), now);
    });
    const whyNot: BudgetLook['whyNot'] = (request, known = () => null) => {
      for (const { metadata } of this.#askedBy(request.vm, request)) {
        if (this.#cache.isPartial && metadata.namespace === undefined)
          return { budget: metadata.uid, message: PARTIAL };
        const message = isFree(request.vm, request.vmi) ? null : known(metadata.uid);
        if (message !== null) return { budget: metadata.uid, message };
        const budget = places(metadata.uid);
        budget?.see(request);
        const refusal = budget?.whyNot(request) ?? null;
        if (refusal === null) continue;
        const isFull = refusal.budget === metadata.uid && refusal.opensAt === undefined;
        if (isFull) this.#budgets.wait(metadata, request);
        return refusal;
      }
      return null;
    };
    return { whyNot };
  }

  /** Notes that nothing of this workflow waits for a budget any more. */
  leave(by: string): void {
    for (const { metadata } of this.#tallies.index.values()) this.#budgets.leave(metadata, by);
  }

  /**
   * Brings statuses of budgets up to date that this worker sees to be outdated: a few at a time, those first that were
   * so the longest ago. For the worker that watches these.
   */
  async refresh(isWatched: (namespace: string | undefined) => boolean): Promise<void> {
    const watched = [...this.#tallies.index.values()].filter(({ metadata }) => isWatched(metadata.namespace));
    const outdated = watched.filter((budget) => this.#isOutdated(budget));
    const since = ({ metadata }: StoredBudget): number => this.#refreshedAt.get(metadata.uid) ?? 0;
    const next = outdated.toSorted((a, b) => since(a) - since(b)).slice(0, MOST_REFRESHED);
    for (const uid of this.#refreshedAt.keys())
      if (this.#tallies.index.get(uid) === undefined) this.#refreshedAt.delete(uid);
    for (const { metadata } of next) this.#refreshedAt.set(metadata.uid, performance.now());
    await Promise.all(next.map(({ metadata }) => this.#budgets.refresh(metadata)));
  }

  #isOutdated({ metadata }: StoredBudget): boolean {
    const budget = this.#budgets.known(metadata);
    // Claims bring it up to date as well.
    if (this.#budgets.changedSince(metadata, performance.now() - FRESH_MS)) return false;
    if (budget === undefined || (metadata.namespace !== undefined && this.#cache.isDelegated(metadata.namespace)))
      return false;
    const claims = this.#budgets.knownClaims(budget);
    return this.#store.isOutdated(budget, claims);
  }

  #askedBy(
    vm: Pick<VmView, 'namespace' | 'ownLabels'>,
    { reason, maybeFor = reason, becomes }: PlaceRequest,
  ): readonly StoredBudget[] {
    const now = Date.now();
    return this.#tallies.index
      .of(vm, becomes)
      .filter((budget) => asks(budget, reason, now) || asks(budget, maybeFor, now));
  }

  /** Waits until the next claims begin. */
  #together(): Promise<void> {
    const begin = (): void => {
      this.#beganAt = performance.now();
      this.#next = undefined;
    };
    this.#next ??= sleep(Math.max(this.#beganAt + TOGETHER_MS - performance.now(), 0)).then(begin);
    return this.#next;
  }

  async #refused(refusal: Refusal, release: () => Promise<void>): Promise<Refusal> {
    await release();
    return refusal;
  }
}

/** Pools see what KubeVirt changes in VMIs that run, and do not count it. */
const ofPool = ({ migration, ...request }: DisruptionRequest): PlaceRequest => ({
  ...request,
  ...(migration !== BY_KUBEVIRT && { migration }),
});
