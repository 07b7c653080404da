import { POOL_LABEL } from '../../api/labels-and-annotations.ts';
import { isControlledBy } from '../../api/owner-references.ts';
import { PodDisruptionBudgets, VirtualMachinePools } from '../../api/resources.ts';
import {
  minAvailableOf,
  podBudgetName,
  podBudgetSpec,
  podBudgetView,
  type PodDisruptionBudget,
} from '../../decisions/drain/pod-budget.ts';
import { canonical } from '../../decisions/lib/canonical-json.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { ownerReference } from '../../decisions/template/vm-from-template.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreNotFound, isAlreadyExists, isRefusal } from '../../kubernetes/errors.ts';
import { retryOnConflict } from '../../kubernetes/retry.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { recordEvent } from '../lib/events.ts';
import { livePool } from '../owners/live-owner.ts';
import type { PoolKey } from '../owners/owner-key.ts';

/**
 * Brings `minAvailable` of the pool's PodDisruptionBudget to what the pool and its VMs ask for, or deletes the
 * PodDisruptionBudget if they ask for none. Leaves a PodDisruptionBudget of that name alone if another object owns it,
 * or none: the pool's status says so. If the API server refuses, an Event says why. `minVersions`: what was planned on.
 */
export async function updatePodDisruptionBudget(
  client: KubeClient,
  cache: ClusterCache,
  key: PoolKey,
  minVersions: ResourceVersions,
): Promise<void> {
  await cache.catchUp({ vms: minVersions.vms, vmis: minVersions.vmis });
  const pool = await livePool(client, key);
  if (pool === undefined) return;
  const minAvailable = minAvailableOf({
    pool,
    vms: cache.vms.ownedBy('VirtualMachinePool', key),
    vmiOf: (vm) => cache.vmiOf(vm),
  });
  try {
    await retryOnConflict(() => write(client, pool, minAvailable), { isRace: isAlreadyExists });
  } catch (error) {
    if (!isRefusal(error)) throw error;
    const note = `PodDisruptionBudget ${podBudgetName(key.name)} could not be written: ${error.message}`;
    await recordEvent(client, key, { type: 'Warning', reason: 'FailedPodDisruptionBudget', action: 'Guard', note });
  }
}

async function write(client: KubeClient, { metadata: owner }: StoredPool, minAvailable: number | null): Promise<void> {
  const at = { namespace: owner.namespace, name: podBudgetName(owner.name) };
  const there = await ignoreNotFound(client.get<PodDisruptionBudget>(PodDisruptionBudgets, at));
  const isOrphaned =
    minAvailable === null &&
    owner.deletionTimestamp !== undefined &&
    (there && podBudgetView(there))?.isLabelled === true;
  if (there !== undefined && !isOrphaned && !isControlledBy(there, VirtualMachinePools, owner)) return;
  if (minAvailable === null) {
    if (there === undefined) return;
    const { uid, resourceVersion } = there.metadata;
    await ignoreNotFound(client.delete(PodDisruptionBudgets, at, { uid, resourceVersion }));
    return;
  }
  const spec = podBudgetSpec(owner.name, minAvailable);
  if (there === undefined) {
    const metadata = {
      ...at,
      labels: { [POOL_LABEL]: owner.name },
      ownerReferences: [ownerReference('VirtualMachinePool', owner)],
    };
    await client.create(PodDisruptionBudgets, { metadata, spec });
  } else if (canonical(there.spec ?? null) !== canonical(spec))
    await client.update(PodDisruptionBudgets, { ...there, spec });
}
