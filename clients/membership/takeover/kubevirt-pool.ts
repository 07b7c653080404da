import { setTimeout as sleep } from 'node:timers/promises';
import { PAUSED_POOL_ANNOTATION } from '../../../api/names.ts';
import type { Condition, KubeObject, Stored } from '../../../api/objects.ts';
import { KubeVirtPools, type Resource } from '../../../api/resources.ts';
import { isObject } from '../../../decisions/lib/json.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { ignoreNotFound, isNotFound, KubeError } from '../../../kubernetes/errors.ts';
import { retryOnConflict } from '../../../kubernetes/retry.ts';
import { Failure } from '../../cli/failure.ts';
import type { Kind } from '../../cli/kinds.ts';
import type { PoolAt } from '../change.ts';

/** KubeVirt's own pools, as commands name them. */
export const KubeVirtPoolKind: Kind = {
  resource: KubeVirtPools,
  words: ['vmpool', 'vmpools', 'virtualmachinepool.pool.kubevirt.io', 'virtualmachinepools.pool.kubevirt.io'],
  noun: "pool of KubeVirt's",
};

/** A pool of KubeVirt, as far as these commands read it. */
export interface KubeVirtPool extends KubeObject {
  spec: { replicas?: number; paused?: boolean; autohealing?: object; selector: object; [field: string]: unknown };
  status?: { conditions?: Condition[] };
}

/** What drover changed in the spec of a pool of KubeVirt. */
export interface PausedPool {
  /** `spec.paused`, as it was. */
  paused: boolean;
  /** `spec.autohealing`, as it was; null without. KubeVirt heals the VMs of a paused pool, too. */
  autohealing: object | null;
  by: string;
  at: string;
}

const PAUSE_MS = 300;
/** The condition by which virt-controller says that a pool is paused. */
const PAUSED = 'ReplicaPaused';

/** Returns the resource in the version that this KubeVirt prefers. Throws `Failure` if it has no pools. */
export async function kubeVirtPools(kube: KubeClient): Promise<Resource> {
  try {
    const group = await kube.request<{ preferredVersion: { version: string } }>({
      method: 'GET',
      path: `/apis/${KubeVirtPools.group}`,
    });
    return { ...KubeVirtPools, version: group.preferredVersion.version };
  } catch (error) {
    if (isNotFound(error))
      throw new Failure(`the cluster's KubeVirt has no pools of its own (${KubeVirtPools.group})`, { cause: error });
    throw error;
  }
}

export const kubeVirtPoolAt = async (
  kube: KubeClient,
  resource: Resource,
  key: PoolAt,
): Promise<Stored<KubeVirtPool> | undefined> => ignoreNotFound(kube.get<KubeVirtPool>(resource, key));

/**
 * Returns the pool; undefined if there is none. Waits for one that is being deleted, as after a takeover, to be gone.
 */
export async function stayingKubeVirtPool(
  kube: KubeClient,
  resource: Resource,
  key: PoolAt,
  { timeout }: { timeout: number },
): Promise<Stored<KubeVirtPool> | undefined> {
  const deadline = Date.now() + timeout;
  for (;;) {
    const pool = await kubeVirtPoolAt(kube, resource, key);
    if (pool?.metadata.deletionTimestamp === undefined) return pool;
    if (Date.now() > deadline)
      throw new Failure(`pool ${key.name} of KubeVirt is being deleted, and still there after ${timeout / 1000} s`);
    await sleep(PAUSE_MS);
  }
}

/** Returns what drover changed as it paused the pool; null if it has not. */
export function pausedPoolOf({ metadata: { annotations } }: Stored<KubeVirtPool>): PausedPool | null {
  const text = annotations?.[PAUSED_POOL_ANNOTATION];
  if (text === undefined) return null;
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) && typeof value['paused'] === 'boolean' ? (value as unknown as PausedPool) : null;
  } catch {
    return null;
  }
}

/** Who pauses a pool of KubeVirt, and when: that tells one command from another. */
export type Pausing = Pick<PausedPool, 'by' | 'at'>;

/**
 * Pauses a pool of KubeVirt and its healing, which goes on in a paused pool. One that drover has paused before is noted
 * as paused by this command: what a frozen one does to the version that it knows is refused. Returns the pool.
 */
export const notePaused = (
  kube: KubeClient,
  resource: Resource,
  { metadata: { namespace = '', name, uid } }: Stored<KubeVirtPool>,
  { by, at }: Pausing,
): Promise<Stored<KubeVirtPool>> =>
  retryOnConflict(async () => {
    const pool = await kube.get<KubeVirtPool>(resource, { namespace, name });
    const { resourceVersion } = pool.metadata;
    if (pool.metadata.uid !== uid)
      throw new Failure(`pool ${name} of KubeVirt was recreated meanwhile: run this again`);
    const { paused = false, autohealing = null } = pool.spec;
    const note: PausedPool = { ...(pausedPoolOf(pool) ?? { paused, autohealing }), by, at };
    return kube.patch<KubeVirtPool>(resource, { namespace, name }, 'merge', {
      metadata: { resourceVersion, annotations: { [PAUSED_POOL_ANNOTATION]: JSON.stringify(note) } },
      spec: { paused: true, autohealing: null },
    });
  });

/** Pauses the pool, and waits until virt-controller says that it has seen this. */
export async function pauseKubeVirtPool(
  kube: KubeClient,
  resource: Resource,
  theirs: Stored<KubeVirtPool>,
  { timeout, ...pausing }: Pausing & { timeout: number },
): Promise<Stored<KubeVirtPool>> {
  const { namespace = '', name } = theirs.metadata;
  const key = { namespace, name };
  const noted = await notePaused(kube, resource, theirs, pausing);
  if (isConfirmed(noted)) await takeConfirmationBack(kube, resource, key);
  const deadline = Date.now() + timeout;
  do {
    const pool = await kube.get<KubeVirtPool>(resource, key);
    if (isConfirmed(pool)) return pool;
    await sleep(PAUSE_MS);
  } while (Date.now() < deadline);
  throw new Failure(
    `virt-controller has not confirmed within ${timeout / 1000} s that pool ${name} of KubeVirt is paused: does it run?`,
  );
}

const isConfirmed = ({ status }: Stored<KubeVirtPool>): boolean =>
  status?.conditions?.some(({ type, status: is }) => type === PAUSED && is === 'True') ?? false;

/**
 * Removes what virt-controller has said before, as of a pool that was paused and healed: once it says so again, it has
 * seen that nothing is healed any more. Who may not do that goes by what was said.
 */
async function takeConfirmationBack(kube: KubeClient, resource: Resource, key: PoolAt): Promise<void> {
  try {
    await retryOnConflict(async () => {
      const { metadata, status } = await kube.get<KubeVirtPool>(resource, key);
      const { resourceVersion } = metadata;
      const conditions = status?.conditions?.filter(({ type }) => type !== PAUSED) ?? [];
      const patch = { metadata: { resourceVersion }, status: { conditions } };
      await kube.patch(resource, key, 'merge', patch, { subresource: 'status' });
    });
  } catch (error) {
    if (!(error instanceof KubeError) || error.status !== 403) throw error;
  }
}

/**
 * Gives a pool of KubeVirt back what the command that paused it so has changed. `staysPaused`: whether it is left
 * paused, for it would restart VMs. Returns false if another command has paused or resumed it since.
 */
export const resumeKubeVirtPool = (
  kube: KubeClient,
  resource: Resource,
  key: PoolAt,
  pausing: Pausing,
  staysPaused: (pool: Stored<KubeVirtPool>) => Promise<boolean> = async () => false,
): Promise<boolean> =>
  retryOnConflict(async () => {
    const pool = await kube.get<KubeVirtPool>(resource, key);
    const before = pausedPoolOf(pool);
    if (before?.by !== pausing.by || before.at !== pausing.at) return false;
    const { resourceVersion } = pool.metadata;
    const paused = (await staysPaused(pool)) || before.paused;
    await kube.patch(resource, key, 'merge', {
      metadata: { resourceVersion, annotations: { [PAUSED_POOL_ANNOTATION]: null } },
      spec: { paused, autohealing: before.autohealing },
    });
    return true;
  });
