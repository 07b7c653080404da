import { AsyncResource } from 'node:async_hooks';
import { POOL_LABEL, ROLE_LABEL } from '../../api/labels-and-annotations.ts';
import type { DisruptedVm } from '../../api/pool/pool.ts';
import { VirtualMachinePools, VirtualMachines } from '../../api/resources.ts';
import {
  ACT_WITHIN_MS,
  activeClaims,
  claimVersions,
  type ClaimContext,
} from '../../decisions/disruption-budget/claims.ts';
import { grantClaims, type ClaimRequest } from '../../decisions/disruption-budget/grant-claims.ts';
import { poolView } from '../../decisions/from-object/owner.ts';
import { later, maxVersions, type ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import { isOwnedBy, isSurge, type MemberRole, type VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ActRefused, ignoreStale } from '../../kubernetes/errors.ts';
import { ON_BUSY_STATUS, retryOnConflict } from '../../kubernetes/retry.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { remembered } from '../cache/remembered.ts';
import { livePool } from '../owners/live-owner.ts';
import { liveVmWithVmi } from '../owners/live-vm.ts';
import type { PoolKey } from '../owners/owner-key.ts';
import { ObservedClaims } from './observed-claims.ts';

/** Maximum number of claims in one write to a pool's status. */
const TOGETHER = 100;

/** A claim on a pool's disruption budget: its VM may be disrupted. */
interface DisruptionClaim {
  /** False once it is too late to act on the claim: it must be made again. */
  isFresh: () => boolean;
  /** Releases the claim, because the VM is not disrupted after all. */
  release: () => Promise<void>;
}

/** A claim, and the pool as it was when the claim was made. */
export type Answer = { claim: DisruptionClaim; pool: StoredPool } | { whyNot: string };

interface PendingClaim {
  request: ClaimRequest;
  answer: PromiseWithResolvers<Answer>;
}

interface Queue {
  requests: PendingClaim[];
  released: DisruptedVm[];
  work: Promise<void> | undefined;
}

/**
 * Places in the disruption budgets of pools (`maxUnavailable`), claimed in the pools' own status, because the API
 * server puts all its writes in one order: a claim is a write that fails if anything was written since it was read. So
 * each act that disrupts VMs, on any worker, counts what all others may be about to do, even if no cache shows that
 * yet.
 *
 * A claim stands until caches that are newer than the claim show its VM down, or ready again, and never longer than a
 * minute. A VM that is down counts by itself in caches as new as the cache that saw it: `disruptionsSeen`. Claims that
 * come together on one worker are written together.
 */
export class DisruptionClaims {
  readonly #client: KubeClient;
  readonly #cache: ClusterCache;
  readonly #observed = new ObservedClaims();
  readonly #queues = new Map<string, Queue>();
  /** Pools as this worker has written them, until its cache has them, by UID. */
  readonly #written = new Map<string, StoredPool>();
  /** A write serves all callers: the end of one caller's activity must not end it for the others. */
  readonly #ofNobody = new AsyncResource('DisruptionClaims');

  constructor(client: KubeClient, cache: ClusterCache) {
    this.#client = client;
    this.#cache = cache;
    cache.subscribe((change) => {
      if (change.kind !== 'pool') return;
      const { before, after } = change;
      if (before !== undefined && before.metadata.uid !== after?.metadata.uid)
        this.#observed.observe(before.metadata.uid, undefined);
      if (after !== undefined) this.#observed.observe(after.metadata.uid, after.status?.disruptedVMs);
      this.#forget((after ?? before)!);
    });
  }

  /** Its cache is as new as what this worker has written, or shows that the pool is gone. */
  #forget(pool: StoredPool): void {
    const written = this.#written.get(pool.metadata.uid);
    if (written !== undefined && !isNewer(written, pool)) this.#written.delete(pool.metadata.uid);
  }

  /** Makes a claim on the pool's disruption budget for the VM, as the caller has seen it last. */
  claim(key: PoolKey, request: ClaimRequest): Promise<Answer> {
    const answer = Promise.withResolvers<Answer>();
    const queue = this.#queueOf(key);
    queue.requests.push({ request, answer });
    this.#work(key, queue);
    return answer.promise;
  }

  #queueOf({ uid }: PoolKey): Queue {
    const queue = this.#queues.get(uid) ?? { requests: [], released: [], work: undefined };
    this.#queues.set(uid, queue);
    return queue;
  }

  #work(key: PoolKey, queue: Queue): void {
    queue.work ??= this.#ofNobody
      .runInAsyncScope(() => this.#empty(key, queue))
      .finally(() => {
        queue.work = undefined;
        if (queue.requests.length + queue.released.length > 0) this.#work(key, queue);
        else this.#queues.delete(key.uid);
      });
  }

  async #empty(key: PoolKey, queue: Queue): Promise<void> {
    // Callers that ask at the same moment share one write.
    await Promise.resolve();
    const requests = queue.requests.splice(0, TOGETHER);
    const released = queue.released.splice(0);
    try {
      const claimRequests = requests.map(({ request }) => request);
      const answers = await this.#write(key, claimRequests, released);
      requests.forEach(({ answer }, index) => answer.resolve(answers[index]!));
    } catch (error) {
      for (const { answer } of requests) answer.reject(error);
    }
  }

  #write(key: PoolKey, requests: readonly ClaimRequest[], released: readonly DisruptedVm[]): Promise<Answer[]> {
    const write = async (tries: number): Promise<Answer[]> => {
      const since = performance.now();
      // If it is older than the pool is, nothing can be written.
      const known = tries === 1 ? this.#known(key) : undefined;
      const pool = known ?? (await livePool(this.#client, key));
      if (pool === undefined) return requests.map(() => ({ whyNot: 'its pool is gone' }));
      const isGone = await this.#goneSurge(pool);
      const { active, seen } = await this.#active(pool, released);
      const at = new Date().toISOString();
      const context = this.#context(pool);
      const vms = context.vms.filter((vm) => !isGone(vm));
      const { claims, answers } = grantClaims({ ...context, vms }, active, requests, at);
      const isGranted = answers.includes(null);
      if (!isGranted && released.length === 0) return answers.map(refused);
      const status = {
        ...(pool.status === undefined ? { replicas: 0 } : {}),
        disruptedVMs: claims,
        ...(seen && { disruptionsSeen: seen }),
      };
      const patch = { metadata: { uid: key.uid, resourceVersion: pool.metadata.resourceVersion }, status };
      const written = await ignoreStale(
        this.#client.patch(VirtualMachinePools, key, 'merge', patch, { subresource: 'status' }),
      );
      if (written === undefined) throw new ActRefused('Conflict', 'the pool has just changed');
      const now = poolView(written);
      this.#written.set(key.uid, now);
      this.#observed.observe(key.uid, claims);
      return answers.map((message, index) =>
        message === null ? { claim: this.#claimOf(key, claims, requests[index]!, since), pool: now } : refused(message),
      );
    };
    return retryOnConflict(write, ON_BUSY_STATUS);
  }

  /** The newest that this worker knows of the pool: its cache, or what it has written since. */
  #known({ namespace, name, uid }: PoolKey): StoredPool | undefined {
    const cached = this.#cache.pools.get(`${namespace}/${name}`);
    const written = this.#written.get(uid);
    if (cached?.metadata.uid !== uid) return undefined;
    return written !== undefined && isNewer(written, cached) ? written : cached;
  }

  /**
   * Returns the claims that still count, as seen in caches that are newer than the claims. Those of VMs that are down
   * are left out; `seen`: what the next count must have reached, since from then on only the VMs show them.
   */
  async #active(
    pool: StoredPool,
    released: readonly DisruptedVm[],
  ): Promise<{ active: DisruptedVm[]; seen?: ResourceVersions }> {
    const { uid } = pool.metadata;
    const claims = pool.status?.disruptedVMs ?? [];
    const before = pool.status?.disruptionsSeen ?? {};
    this.#observed.observe(uid, claims);
    await this.#cache.catchUp(maxVersions(claimVersions(claims), before), pool.metadata);
    const isReleased = (claim: DisruptedVm): boolean =>
      released.some(({ vm, by, at }) => claim.vm === vm && claim.by === by && claim.at === at);
    const versions = this.#cache.versionsOf('vms', 'vmis');
    const active = activeClaims(this.#context(pool), isReleased);
    const kept = active.map(async ({ claim, state }) => {
      if (state === 'down') return false;
      if (!this.#observed.isExpired(uid, claim)) return true;
      // Expired. If used, its VM counts as unavailable by itself. Otherwise, the API server knows better than this
      // worker's caches whether the VMI was ended late.
      return state === 'unused' && (await this.#isUsed(pool, claim));
    });
    const keeps = await Promise.all(kept);
    const remaining = active.filter((_, index) => keeps[index]).map(({ claim }) => claim);
    return { active: remaining, ...(remaining.length < active.length && { seen: versions }) };
  }

  async #isUsed(pool: StoredPool, claim: DisruptedVm): Promise<boolean> {
    const at = { namespace: pool.metadata.namespace, name: claim.vm };
    const { vm, vmi } = (await liveVmWithVmi({ client: this.#client, cache: this.#cache }, at)) ?? {};
    const others = this.#cache.vms.ownedBy('VirtualMachinePool', pool.metadata).filter(({ name }) => name !== claim.vm);
    const vms = vm !== undefined && isOwnedBy(vm, 'VirtualMachinePool', pool.metadata) ? [...others, vm] : others;
    const vmiOf = (one: VmView): VmiView | undefined => (one === vm ? vmi : this.#cache.vmiOf(one));
    const context: ClaimContext = { pool: { ...pool, status: { ...pool.status!, disruptedVMs: [claim] } }, vms, vmiOf };
    return activeClaims(context, () => false).some(({ state }) => state !== 'unused');
  }

  /**
   * Finds extra VMs that are gone, although this worker's cache may still show them: no claim shows these, because
   * their claims have ended. The pool must have been read before: a later deletion has a later claim.
   */
  async #goneSurge({ metadata: pool }: StoredPool): Promise<(vm: VmView) => boolean> {
    if (!this.#cache.vms.ownedBy('VirtualMachinePool', pool).some(isSurge)) return () => false;
    const role: MemberRole = 'Surge';
    const labelSelector = `${POOL_LABEL}=${pool.name},${ROLE_LABEL}=${role}`;
    const { items } = await this.#client.list(VirtualMachines, {
      namespace: pool.namespace,
      labelSelector,
      metadataOnly: true,
    });
    const there = items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    const uids = new Set(there.map(({ metadata }) => metadata.uid));
    return (vm) => isSurge(vm) && !uids.has(vm.uid);
  }

  #context(pool: StoredPool): ClaimContext {
    return {
      pool,
      vms: this.#cache.vms.ownedBy('VirtualMachinePool', pool.metadata),
      vmiOf: remembered((vm: VmView) => this.#cache.vmiOf(vm)),
    };
  }

  #claimOf(key: PoolKey, claims: readonly DisruptedVm[], { vm, by }: ClaimRequest, since: number): DisruptionClaim {
    const claim = claims.find((one) => one.vm === vm.name && one.by === by)!;
    return {
      isFresh: () => performance.now() - since < ACT_WITHIN_MS,
      release: async () => {
        const queue = this.#queueOf(key);
        queue.released.push(claim);
        this.#work(key, queue);
        await queue.work;
      },
    };
  }
}

const isNewer = ({ metadata: one }: StoredPool, { metadata: other }: StoredPool): boolean =>
  later(other.resourceVersion, one.resourceVersion) !== other.resourceVersion;

const refused = (message: string | null): Answer => ({ whyNot: message ?? '' });
