import { MEMBERS_MANAGER, MEMBERSHIP_CHANGE_ANNOTATION } from '../../api/names.ts';
import type { Stored } from '../../api/objects.ts';
import { VirtualMachinePools } from '../../api/resources.ts';
import { wantedReplicas } from '../../api/wanted-replicas.ts';
import {
  changeAnnotation,
  isListed,
  isSameChange,
  membershipChangeOf,
  type MembershipChange,
} from '../../decisions/membership/change.ts';
import { SILENCE_MS } from '../../decisions/membership/silent-change.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { retryOnConflict } from '../../kubernetes/retry.ts';
import { Failure } from '../cli/failure.ts';
import type { Pool } from '../cli/objects.ts';
import { poolAt, serverTime, TRIES, type PoolAt } from './change.ts';

/** How often a command reports that it works. */
const REPORT_MS = SILENCE_MS / 10;
/** An answer that took longer is no news: the process may have been frozen meanwhile. */
const NEWS_MS = 10_000;

/** A change that is written on a pool, which begins nothing meanwhile. */
export class MembershipLease {
  readonly #kube: KubeClient;
  readonly #key: PoolAt;
  readonly #change: MembershipChange;
  /** By this process's clock; null until it first reports. */
  #reportedAt: number | null = null;

  constructor(kube: KubeClient, key: PoolAt, change: MembershipChange) {
    this.#kube = kube;
    this.#key = key;
    this.#change = change;
  }

  /** The lease of the change that is written on this pool. */
  static of(kube: KubeClient, pool: Stored<Pool>): MembershipLease {
    const { namespace = '', name } = pool.metadata;
    return new MembershipLease(kube, { namespace, name }, membershipChangeOf(pool) as MembershipChange);
  }

  /**
   * Reports that the command works, now and then. Returns false if the pool is no longer held by this change: another
   * command has finished it, the pool has gone on, or is being deleted. Nothing more may be moved then.
   */
  async keep(): Promise<boolean> {
    for (;;) {
      const askedAt = performance.now();
      const isHeld = await this.#report();
      if (!isHeld || performance.now() - askedAt < NEWS_MS) return isHeld;
    }
  }

  /** The same for a command that has nothing more to do then: throws `Failure` instead of returning false. */
  async mustKeep(): Promise<true> {
    if (await this.keep()) return true;
    const { name } = this.#key;
    throw new Failure(
      `pool ${name}: another command has ended this ${this.#change.kind}, or the pool is being deleted`,
    );
  }

  #report(): Promise<boolean> {
    return this.#whileHeld(async (pool, change) => {
      const now = performance.now();
      const isDue = this.#reportedAt === null || now - this.#reportedAt >= REPORT_MS;
      if (!isListed(change) || !isDue) return;
      await this.#write(pool, changeAnnotation({ ...change, reportedAt: serverTime(this.#kube) }));
      this.#reportedAt = now;
    });
  }

  /** Takes the change off the pool, which then goes on. `replicas`: what is added to its number in the same write. */
  async end({ replicas = 0 }: { replicas?: number } = {}): Promise<void> {
    await this.#whileHeld(async (pool) => {
      const wanted = Math.max(wantedReplicas(pool) + replicas, 0);
      await this.#write(pool, { [MEMBERSHIP_CHANGE_ANNOTATION]: null }, replicas === 0 ? {} : { replicas: wanted });
    });
  }

  #whileHeld(act: (pool: Stored<Pool>, change: MembershipChange) => Promise<void>): Promise<boolean> {
    return retryOnConflict(
      async () => {
        const pool = await poolAt(this.#kube, this.#key);
        const isStaying = pool !== undefined && pool.metadata.deletionTimestamp === undefined;
        const change = isStaying ? membershipChangeOf(pool) : null;
        if (change === null || change === 'unreadable' || !isSameChange(this.#change, change)) return false;
        await act(pool!, change);
        return true;
      },
      { tries: TRIES },
    );
  }

  async #write(
    { metadata: { resourceVersion } }: Stored<Pool>,
    annotations: Record<string, string | null>,
    spec: { replicas?: number } = {},
  ): Promise<void> {
    const patch = { metadata: { resourceVersion, annotations }, spec };
    await this.#kube.patch(VirtualMachinePools, this.#key, 'merge', patch, { fieldManager: MEMBERS_MANAGER });
  }
}
