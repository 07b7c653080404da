import { setTimeout as sleep } from 'node:timers/promises';
import { cancellationSignal } from '@temporalio/activity';
import type { New, Stored } from '../../api/objects.ts';
import { KubeVirtPools, type Resource } from '../../api/resources.ts';
import {
  pausedPoolOf,
  pausingPatch,
  resumingPatch,
  type KubeVirtPool,
} from '../../decisions/membership/kubevirt-pool.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ActRefused, ignoreNotFound, KubeError } from '../../kubernetes/errors.ts';
import { kubeVirtPools } from '../../kubernetes/kubevirt-pools.ts';
import { retryOnConflict, type LastCheck } from '../../kubernetes/retry.ts';
import { patchKept } from '../lib/refuse-unkept.ts';
import type { PoolKey } from '../owners/owner-key.ts';
import type { MembersRun } from './members-run.ts';

/** How long KubeVirt may take to pause a pool, or to delete one. */
const TIMEOUT_MS = 30_000;
const PAUSE_MS = 300;
/** The condition by which virt-controller says that a pool is paused. */
const PAUSED = 'ReplicaPaused';

type StoredKubeVirtPool = Stored<KubeVirtPool>;

const isConfirmed = (pool: StoredKubeVirtPool | undefined): boolean =>
  pool?.status?.conditions?.some(({ type, status }) => type === PAUSED && status === 'True') ?? false;

/** The error that ends a takeover or a release: the KubeVirt pool, or the cluster, does not allow it now. */
export const refusal = (message: string): ActRefused => new ActRefused('FailedDependency', message);

/** The KubeVirt pool of the same name as a drover pool. */
export class KubeVirtPoolOf {
  readonly resource: Resource;
  readonly #client: KubeClient;
  readonly #key: PoolKey;

  private constructor({ client, key }: MembersRun, resource: Resource) {
    this.#client = client;
    this.#key = key;
    this.resource = resource;
  }

  /** Refuses if the cluster's KubeVirt has no pools of its own. */
  static async find(run: MembersRun): Promise<KubeVirtPoolOf> {
    const resource = await kubeVirtPools(run.client);
    if (resource === undefined)
      throw refusal(`the cluster's KubeVirt has no pools of its own (${KubeVirtPools.group})`);
    return new KubeVirtPoolOf(run, resource);
  }

  get(): Promise<StoredKubeVirtPool | undefined> {
    return ignoreNotFound(this.#client.get<KubeVirtPool>(this.resource, this.#key));
  }

  /** Returns the pool once it is not being deleted, as after a takeover; undefined if there is none. */
  async staying(): Promise<StoredKubeVirtPool | undefined> {
    const isStaying = (pool: StoredKubeVirtPool | undefined): boolean => pool?.metadata.deletionTimestamp === undefined;
    const { name } = this.#key;
    return this.#until(isStaying, `KubeVirt pool ${name} is being deleted: run the command again when it is gone`);
  }

  async create(spec: KubeVirtPool['spec'], more: New['metadata']): Promise<StoredKubeVirtPool> {
    const { namespace, name } = this.#key;
    return this.#client.create<KubeVirtPool>(this.resource, { metadata: { namespace, name, ...more }, spec });
  }

  /**
   * Pauses the pool and its healing for this request, and returns it. `whyNot` says, right before, why the pool is not
   * the requested one.
   */
  pause(request: string, whyNot: (pool: StoredKubeVirtPool | undefined) => string | null): Promise<StoredKubeVirtPool> {
    return retryOnConflict(async () => {
      const pool = await this.get();
      if (pool !== undefined && pausedPoolOf(pool)?.request === request && pool.spec.paused === true) return pool;
      const message = whyNot(pool);
      if (pool === undefined || message !== null) throw refusal(message ?? `KubeVirt pool ${this.#key.name} is gone`);
      return this.#patch(pausingPatch(pool, request));
    });
  }

  /** Waits until virt-controller reports the pause, after which it no longer heals VMs of the pool. */
  async untilPaused(): Promise<void> {
    if (isConfirmed(await this.get())) await this.#resetConfirmation();
    await this.#until(
      isConfirmed,
      `virt-controller has not confirmed within ${TIMEOUT_MS / 1000} s that KubeVirt pool ${this.#key.name} is paused: does it run?`,
    );
  }

  /**
   * Removes the condition: it may be of an earlier pause, which did not stop healing. virt-controller adds it again
   * once it has seen this one.
   */
  async #resetConfirmation(): Promise<void> {
    try {
      await retryOnConflict(async () => {
        const { metadata, status } = (await this.get())!;
        const conditions = status?.conditions?.filter(({ type }) => type !== PAUSED) ?? [];
        await this.#patch(
          { metadata: { resourceVersion: metadata.resourceVersion }, status: { conditions } },
          'status',
        );
      });
    } catch (error) {
      // Without the right to patch the status, the condition counts as it is.
      if (!(error instanceof KubeError) || error.status !== 403) throw error;
    }
  }

  /** Restores what the pool had before it was paused for this request, unless it `staysPaused`. */
  resume(request: string, staysPaused: (pool: StoredKubeVirtPool) => Promise<boolean>): Promise<void> {
    return retryOnConflict(async () => {
      const pool = await this.get();
      const before = pool === undefined ? null : pausedPoolOf(pool);
      if (before?.request === request) await this.#patch(resumingPatch(pool!, before, await staysPaused(pool!)));
    });
  }

  /** Deletes this version of the pool, and keeps the objects that it owns. */
  async delete({ metadata: { uid, resourceVersion } }: StoredKubeVirtPool, lastCheck: LastCheck): Promise<void> {
    const options = { uid, resourceVersion, propagationPolicy: 'Orphan', lastCheck } as const;
    await ignoreNotFound(this.#client.delete(this.resource, this.#key, options));
  }

  async #patch(patch: object, subresource?: 'status'): Promise<StoredKubeVirtPool> {
    return patchKept<KubeVirtPool>(this.#client, this.resource, this.#key, patch, {
      ...(subresource && { subresource }),
    });
  }

  async #until(
    isSo: (pool: StoredKubeVirtPool | undefined) => boolean,
    message: string,
  ): Promise<StoredKubeVirtPool | undefined> {
    const deadline = Date.now() + TIMEOUT_MS;
    for (;;) {
      const pool = await this.get();
      if (isSo(pool)) return pool;
      if (Date.now() >= deadline) throw refusal(message);
      await sleep(PAUSE_MS, undefined, { signal: cancellationSignal() });
    }
  }
}
