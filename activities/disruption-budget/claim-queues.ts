import { AsyncResource } from 'node:async_hooks';
import type { BudgetClaim } from '../../api/budgets/budget.ts';
import type { DisruptedVm } from '../../api/pool/pool.ts';
import type { PlaceRequest } from '../../decisions/disruption-budget/any-vms/places.ts';
import { isListed, turnOf, type Asking } from '../../decisions/disruption-budget/any-vms/turns.ts';
import { claimVersions } from '../../decisions/disruption-budget/claims.ts';
import type { Refusal } from '../../decisions/disruption/held.ts';
import { later, maxVersions, type ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ActRefused, ignoreStale } from '../../kubernetes/errors.ts';
import { ON_BUSY_STATUS, retryOnConflict } from '../../kubernetes/retry.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import type { BudgetKey, Claimable, ClaimStore } from './claim-store.ts';
import { claimKey, ObservedClaims } from './observed-claims.ts';

/** Maximum number of claims in one write to a status. */
const TOGETHER = 100;

/** A place in one budget. */
export interface Place<Budget> {
  /** The budget as it was when the claim was made. */
  budget: Budget;
  /** When what it was decided on was read, by `performance.now()`. */
  since: number;
  /** Gives it back, because the VM is not disrupted after all. */
  release: () => Promise<void>;
}

/** `Gone`: there is no such budget any more. */
export type Answer<Budget> = Place<Budget> | Refusal | 'Gone';

interface Pending<Budget> {
  request: PlaceRequest;
  answer: PromiseWithResolvers<Answer<Budget>>;
}

interface Queue<Budget, Claim> {
  requests: Pending<Budget>[];
  /** Whether the status is to be brought up to date, though nobody claims. */
  isOutdated: boolean;
  /** Requests that found no room, by the workflow whose turn it is. */
  asking: Map<string, Asking>;
  released: Claim[];
  /** What the last write failed with. */
  failure: Error | null;
  work: Promise<void> | undefined;
}

/**
 * Claims in the status of objects, because the API server puts all writes of one in one order: a claim is a write that
 * fails if anything was written since it was read. So each act that disrupts VMs, on any worker, counts what all others
 * may be about to do, even if no cache shows that yet.
 *
 * A claim stands until caches that are newer than the claim show its VM down, or ready again, and never longer than a
 * minute. A VM that is down counts by itself in caches as new as the cache that saw it: `seenOf`. Claims that come
 * together on one worker are written together.
 */
export class ClaimQueues<Budget extends Claimable, Claim extends DisruptedVm | BudgetClaim> {
  readonly #client: KubeClient;
  readonly #cache: ClusterCache;
  readonly #store: ClaimStore<Budget, Claim>;
  readonly #observed = new ObservedClaims();
  readonly #queues = new Map<string, Queue<Budget, Claim>>();
  /** Objects as this worker has written them, until its cache has them, by UID. */
  readonly #written = new Map<string, Budget>();
  /** When the cache last saw each object change, by UID and by `performance.now()`. */
  readonly #changedAt = new Map<string, number>();
  /** A write serves all callers: the end of one caller's activity must not end it for the others. */
  readonly #ofNobody = new AsyncResource('ClaimQueues');

  constructor(client: KubeClient, cache: ClusterCache, store: ClaimStore<Budget, Claim>) {
    this.#client = client;
    this.#cache = cache;
    this.#store = store;
    store.follow((before, after) => {
      if (before !== undefined && before.metadata.uid !== after?.metadata.uid) {
        this.#observed.observe(before.metadata.uid, undefined);
        this.#changedAt.delete(before.metadata.uid);
      }
      if (after !== undefined) {
        this.#observed.observe(after.metadata.uid, store.claimsOf(after));
        this.#changedAt.set(after.metadata.uid, performance.now());
      }
      this.#forget((after ?? before)!);
    });
  }

  /** Its cache is as new as what this worker has written, or shows that the object is gone. */
  #forget(budget: Budget): void {
    const written = this.#written.get(budget.metadata.uid);
    if (written !== undefined && !isNewer(written, budget)) this.#written.delete(budget.metadata.uid);
  }

  /** Makes a claim for the VM, as the caller has seen it last. */
  claim(key: BudgetKey, request: PlaceRequest): Promise<Answer<Budget>> {
    const answer = Promise.withResolvers<Answer<Budget>>();
    const queue = this.#queueOf(key);
    queue.requests.push({ request, answer });
    this.#work(key, queue);
    return answer.promise;
  }

  /** Notes that a request waits for room, so that it gets a turn: in the status, but no more often than needed. */
  wait(key: BudgetKey, { by, reason }: PlaceRequest): void {
    const budget = this.known(key);
    if (budget === undefined || isListed(this.#store.waitingOf(budget), by, Date.now())) return;
    const queue = this.#queueOf(key);
    const turn = turnOf(by);
    queue.asking.set(turn, { reason, vms: (queue.asking.get(turn)?.vms ?? 0) + 1 });
    this.#work(key, queue);
  }

  /** Notes that nothing of it waits for room any more: none is owed to it. */
  leave(key: BudgetKey, by: string): void {
    const budget = this.known(key);
    const listed = budget && this.#store.waitingOf(budget).find((waiter) => waiter.by === turnOf(by));
    if (listed === undefined) return;
    const queue = this.#queueOf(key);
    queue.asking.set(listed.by, { reason: listed.reason, vms: 0 });
    this.#work(key, queue);
  }

  /** Brings the status up to date: ends claims that are over, and counts anew. */
  async refresh(key: BudgetKey): Promise<void> {
    const queue = this.#queueOf(key);
    queue.isOutdated = true;
    this.#work(key, queue);
    await queue.work;
    if (queue.failure !== null) throw queue.failure;
  }

  /** Whether it has changed since then, by `performance.now()`. */
  changedSince({ uid }: BudgetKey, time: number): boolean {
    return (this.#changedAt.get(uid) ?? -Infinity) > time;
  }

  /** The newest that this worker knows of it: its cache, or what it has written since. */
  known(key: BudgetKey): Budget | undefined {
    const cached = this.#store.cached(key);
    const written = this.#written.get(key.uid);
    return cached !== undefined && written !== undefined && isNewer(written, cached) ? written : cached;
  }

  /** The claims that still count in what this worker knows of it, without a call. */
  knownClaims(budget: Budget): Claim[] {
    const { uid } = budget.metadata;
    const active = this.#store.active(budget, this.#store.claimsOf(budget));
    return active
      .filter(({ claim, state }) => state === 'lasting' || (state !== 'down' && !this.#observed.isExpired(uid, claim)))
      .map(({ claim }) => claim);
  }

  #queueOf({ uid }: BudgetKey): Queue<Budget, Claim> {
    const queue = this.#queues.get(uid) ?? {
      requests: [],
      isOutdated: false,
      asking: new Map<string, Asking>(),
      released: [],
      failure: null,
      work: undefined,
    };
    this.#queues.set(uid, queue);
    return queue;
  }

  #work(key: BudgetKey, queue: Queue<Budget, Claim>): void {
    queue.work ??= this.#ofNobody
      .runInAsyncScope(() => this.#empty(key, queue))
      .finally(() => {
        queue.work = undefined;
        if (queue.isOutdated || queue.requests.length + queue.released.length + queue.asking.size > 0)
          this.#work(key, queue);
        else this.#queues.delete(key.uid);
      });
  }

  async #empty(key: BudgetKey, queue: Queue<Budget, Claim>): Promise<void> {
    // Callers that ask at the same moment share one write.
    await Promise.resolve();
    const requests = queue.requests.splice(0, TOGETHER);
    const released = queue.released.splice(0);
    const { asking } = queue;
    const mayStay = !queue.isOutdated && released.length + asking.size === 0;
    queue.isOutdated = false;
    queue.asking = new Map();
    try {
      const placeRequests = requests.map(({ request }) => request);
      const answers = await this.#write(key, placeRequests, { released, asking, mayStay });
      requests.forEach(({ answer }, index) => answer.resolve(answers[index]!));
      queue.failure = null;
    } catch (error) {
      queue.failure = error as Error;
      for (const { answer } of requests) answer.reject(error);
    }
  }

  /** `mayStay`: nothing is to be written unless a request is granted. */
  #write(
    key: BudgetKey,
    requests: readonly PlaceRequest[],
    {
      released,
      asking,
      mayStay,
    }: { released: readonly Claim[]; asking: ReadonlyMap<string, Asking>; mayStay: boolean },
  ): Promise<Answer<Budget>[]> {
    const store = this.#store;
    const write = async (tries: number): Promise<Answer<Budget>[]> => {
      const since = performance.now();
      // If it is older than the object is, nothing can be written.
      const known = tries === 1 ? this.known(key) : undefined;
      const budget = known ?? (await store.live(key));
      if (budget === undefined) return requests.map(() => 'Gone');
      const { active, seen } = await this.#active(budget, released);
      const { claims, answers, statusOf } = await store.grant(budget, active, requests, asking);
      if (!answers.includes(null) && mayStay) return answers.map((answer) => answer!);
      const { uid, resourceVersion } = budget.metadata;
      const patch = { metadata: { uid, resourceVersion }, status: statusOf(seen) };
      const resource = store.resourceOf(budget);
      const written = await ignoreStale(this.#client.patch(resource, key, 'merge', patch, { subresource: 'status' }));
      if (written === undefined) throw new ActRefused('Conflict', `the ${resource.kind} has just changed`);
      const now = store.view(written);
      this.#written.set(uid, now);
      this.#observed.observe(uid, claims);
      return answers.map((refusal, index) => refusal ?? this.#placeOf(now, claims, requests[index]!, since));
    };
    return retryOnConflict(write, ON_BUSY_STATUS);
  }

  /**
   * Returns the claims that still count, as seen in caches that are newer than the claims. Those of VMs that are down
   * are left out; `seen`: what the next count must have reached, since from then on only the VMs show them.
   */
  async #active(
    budget: Budget,
    released: readonly Claim[],
  ): Promise<{ active: Claim[]; seen: ResourceVersions | undefined }> {
    const store = this.#store;
    const { uid } = budget.metadata;
    const claims = store.claimsOf(budget);
    this.#observed.observe(uid, claims);
    await this.#cache.catchUp(maxVersions(claimVersions(claims), store.seenOf(budget)), budget.metadata);
    const gone = new Set(released.map(claimKey));
    const remaining = claims.filter((claim) => !gone.has(claimKey(claim)));
    const versions = this.#cache.versionsOf('vms', 'vmis');
    const active = store.active(budget, remaining);
    const kept = active.map(async ({ claim, state }) => {
      if (state === 'down' || state === 'lasting') return state === 'lasting';
      if (!this.#observed.isExpired(uid, claim)) return true;
      // Expired. If used, its VM counts as unavailable by itself. Otherwise, the API server knows better than this
      // worker's caches whether the VMI was ended late.
      return state === 'unused' && (await store.isUsed(budget, claim));
    });
    const keeps = await Promise.all(kept);
    const counting = active.filter((_, index) => keeps[index]).map(({ claim }) => claim);
    return { active: counting, seen: counting.length < active.length ? versions : undefined };
  }

  #placeOf(budget: Budget, claims: readonly Claim[], { vm, by }: PlaceRequest, since: number): Place<Budget> {
    const claim = claims.find(
      (one) => one.vm === vm.name && one.by === by && ('namespace' in one ? one.namespace === vm.namespace : true),
    );
    const { namespace, name, uid } = budget.metadata;
    const key = { namespace, name, uid };
    const release = async (): Promise<void> => {
      // Another request of the same write has taken it over.
      if (claim === undefined) return;
      const queue = this.#queueOf(key);
      queue.released.push(claim);
      this.#work(key, queue);
      await queue.work;
    };
    return { budget, since, release };
  }
}

const isNewer = ({ metadata: one }: Claimable, { metadata: other }: Claimable): boolean =>
  later(other.resourceVersion, one.resourceVersion) !== other.resourceVersion;
