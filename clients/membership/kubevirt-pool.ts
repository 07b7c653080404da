import { setTimeout as sleep } from 'node:timers/promises';
import { PAUSED_POOL_ANNOTATION } from '../../api/names.ts';
import type { Condition, KubeObject, Stored } from '../../api/objects.ts';
import { KubeVirtPools, type Resource } from '../../api/resources.ts';
import { isObject } from '../../decisions/lib/json.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreNotFound, isNotFound } from '../../kubernetes/errors.ts';
import { retryOnConflict } from '../../kubernetes/retry.ts';
import { Failure } from '../cli/failure.ts';
import type { Kind } from '../cli/kinds.ts';
import { requestedBy } from '../session/requester.ts';
import type { PoolAt } from './change.ts';

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

/** Returns the pool; undefined if there is none. Waits for one that is being deleted, as after a takeover, to be gone. */
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

/**
 * Pauses a pool of KubeVirt and its healing, which goes on in a paused pool, and waits until virt-controller says that it
 * has seen this. Does nothing to a pool that drover has paused before.
 */
export async function pauseKubeVirtPool(
  kube: KubeClient,
  resource: Resource,
  key: PoolAt,
  { by, timeout }: { by: string; timeout: number },
): Promise<Stored<KubeVirtPool>> {
  await retryOnConflict(async () => {
    const pool = await kube.get<KubeVirtPool>(resource, key);
    const before = pausedPoolOf(pool);
    if (before !== null && pool.spec.paused === true && pool.spec.autohealing === undefined) return;
    const { paused = false, autohealing = null } = pool.spec;
    const note: PausedPool = before ?? { paused, autohealing, by, at: new Date().toISOString() };
    const { resourceVersion } = pool.metadata;
    await kube.patch(resource, key, 'merge', {
      metadata: { resourceVersion, annotations: { [PAUSED_POOL_ANNOTATION]: JSON.stringify(note) } },
      spec: { paused: true, autohealing: null },
    });
  });
  const deadline = Date.now() + timeout;
  do {
    const pool = await kube.get<KubeVirtPool>(resource, key);
    if (pool.status?.conditions?.some(({ type, status }) => type === 'ReplicaPaused' && status === 'True')) return pool;
    await sleep(PAUSE_MS);
  } while (Date.now() < deadline);
  throw new Failure(
    `virt-controller has not confirmed within ${timeout / 1000} s that pool ${key.name} of KubeVirt is paused: does it run?`,
  );
}

/**
 * Notes on a pool that drover has paused who is at work on it now. A takeover that was frozen right before it deleted the
 * pool would otherwise do so at any time later, with the VMs that it has got back. Returns the pool.
 */
export async function pauseAgain(
  kube: KubeClient,
  resource: Resource,
  { metadata: { namespace = '', name, uid } }: Stored<KubeVirtPool>,
): Promise<Stored<KubeVirtPool>> {
  const by = await requestedBy(async () => kube);
  return retryOnConflict(async () => {
    const pool = await kube.get<KubeVirtPool>(resource, { namespace, name });
    const before = pausedPoolOf(pool);
    if (pool.metadata.uid !== uid || before === null)
      throw new Failure(`pool ${name} of KubeVirt is not paused by drover any more: run this again`);
    const { resourceVersion } = pool.metadata;
    const paused: PausedPool = { ...before, by, at: new Date().toISOString() };
    return kube.patch<KubeVirtPool>(resource, { namespace, name }, 'merge', {
      metadata: { resourceVersion, annotations: { [PAUSED_POOL_ANNOTATION]: JSON.stringify(paused) } },
    });
  });
}

/** Gives a pool of KubeVirt back what drover paused. `stays`: it is left paused, for it would restart VMs. */
export async function resumeKubeVirtPool(
  kube: KubeClient,
  resource: Resource,
  key: PoolAt,
  { stays = false }: { stays?: boolean } = {},
): Promise<void> {
  await retryOnConflict(async () => {
    const pool = await kube.get<KubeVirtPool>(resource, key);
    const before = pausedPoolOf(pool);
    if (before === null) return;
    const { resourceVersion } = pool.metadata;
    await kube.patch(resource, key, 'merge', {
      metadata: { resourceVersion, annotations: { [PAUSED_POOL_ANNOTATION]: null } },
      spec: { paused: stays || before.paused, autohealing: before.autohealing },
    });
  });
}
