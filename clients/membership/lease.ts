import { MEMBERS_MANAGER, MEMBERSHIP_CHANGE_ANNOTATION } from '../../api/names.ts';
import type { Stored } from '../../api/objects.ts';
import { VirtualMachinePools } from '../../api/resources.ts';
import { isSameChange, membershipChangeOf, type MembershipChange } from '../../decisions/membership/change.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { retryOnConflict } from '../../kubernetes/retry.ts';
import { Failure } from '../cli/failure.ts';
import type { Pool } from '../cli/objects.ts';
import { poolAt, TRIES, type PoolAt } from './change.ts';

/** An answer that took longer is no news: the process may have been frozen meanwhile. */
const NEWS_MS = 10_000;

/** A takeover, or a release, that is written on a pool, which begins nothing meanwhile. */
export class MembershipLease {
  readonly #kube: KubeClient;
  readonly #key: PoolAt;
  readonly #change: MembershipChange;

  /** The lease of the change that is written on this pool. */
  constructor(kube: KubeClient, pool: Stored<Pool>) {
    const { namespace = '', name } = pool.metadata;
    this.#kube = kube;
    this.#key = { namespace, name };
    this.#change = membershipChangeOf(pool) as MembershipChange;
  }

  /**
   * Returns true while the pool is held by this change. Throws `Failure` if it is not any more: another command has
   * finished it, or the pool is being deleted. Nothing more may be moved then.
   */
  async mustKeep(): Promise<true> {
    for (;;) {
      const askedAt = performance.now();
      if ((await this.#held()) === undefined) break;
      if (performance.now() - askedAt < NEWS_MS) return true;
    }
    const { name } = this.#key;
    throw new Failure(
      `pool ${name}: another command has ended this ${this.#change.kind}, or the pool is being deleted`,
    );
  }

  /** Takes the change off the pool, which then goes on. */
  async end(): Promise<void> {
    await retryOnConflict(
      async () => {
        const pool = await this.#held();
        if (pool === undefined) return;
        const { resourceVersion } = pool.metadata;
        const patch = { metadata: { resourceVersion, annotations: { [MEMBERSHIP_CHANGE_ANNOTATION]: null } } };
        await this.#kube.patch(VirtualMachinePools, this.#key, 'merge', patch, { fieldManager: MEMBERS_MANAGER });
      },
      { tries: TRIES },
    );
  }

  async #held(): Promise<Stored<Pool> | undefined> {
    const pool = await poolAt(this.#kube, this.#key);
    const isStaying = pool !== undefined && pool.metadata.deletionTimestamp === undefined;
    return isStaying && isSameChange(this.#change, membershipChangeOf(pool)) ? pool : undefined;
  }
}
