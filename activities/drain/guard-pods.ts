import { cancellationSignal } from '@temporalio/activity';
import { POOL_LABEL } from '../../api/names.ts';
import { controllerOf } from '../../api/objects.ts';
import { PodDisruptionBudgets } from '../../api/resources.ts';
import { podBudgetName, podBudgetSpec, type PodDisruptionBudget } from '../../decisions/drain/pod-budget.ts';
import { canonical } from '../../decisions/lib/canonical-json.ts';
import { ownerReference } from '../../decisions/template/vm-from-template.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreNotFound, isAlreadyExists } from '../../kubernetes/errors.ts';
import { retryOnConflict } from '../../kubernetes/retry.ts';
import { recordEvent } from '../lib/events.ts';
import { livePool } from '../owners/live-owner.ts';
import type { PoolKey } from '../owners/types.ts';

/**
 * Sets `minAvailable` of the pool's PodDisruptionBudget, or deletes it (null). Leaves a PodDisruptionBudget of that
 * name alone if another object owns it, and records an Event.
 */
export async function updatePodDisruptionBudget(
  client: KubeClient,
  key: PoolKey,
  minAvailable: number | null,
): Promise<void> {
  const signal = cancellationSignal();
  const at = { namespace: key.namespace, name: podBudgetName(key.name) };
  await retryOnConflict(
    async () => {
      const pool = await livePool(client, key, signal);
      if (pool === undefined) return;
      const there = await ignoreNotFound(client.get<PodDisruptionBudget>(PodDisruptionBudgets, at, { signal }));
      if (there !== undefined && controllerOf(there)?.uid !== key.uid) {
        if (minAvailable === null) return;
        const note = `PodDisruptionBudget ${at.name} does not belong to the pool: evictions of its VMs are not limited by maxUnavailable`;
        await recordEvent(client, pool, {
          type: 'Warning',
          reason: 'FailedPodDisruptionBudget',
          action: 'Guard',
          note,
        });
        return;
      }
      if (minAvailable === null) {
        const { uid, resourceVersion } = there?.metadata ?? {};
        if (there !== undefined)
          await ignoreNotFound(
            client.delete(PodDisruptionBudgets, at, { uid: uid!, resourceVersion: resourceVersion!, signal }),
          );
        return;
      }
      const spec = podBudgetSpec(key.name, minAvailable);
      const metadata = {
        ...at,
        labels: { [POOL_LABEL]: key.name },
        ownerReferences: [ownerReference('VirtualMachinePool', pool.metadata)],
      };
      if (there === undefined) await client.create(PodDisruptionBudgets, { metadata, spec }, { signal });
      else if (canonical(there.spec ?? null) !== canonical(spec)) {
        const { resourceVersion } = there.metadata;
        await client.update(
          PodDisruptionBudgets,
          { ...there, metadata: { ...there.metadata, resourceVersion }, spec },
          { signal },
        );
      }
    },
    { isRace: (error) => isAlreadyExists(error) },
  );
}
