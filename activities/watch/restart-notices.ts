import { NOTICE_ACTION } from '../../api/labels-and-annotations.ts';
import { whyRestartIsDue } from '../../decisions/operations/restart-required.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { recordVmEvent } from '../lib/events.ts';

/**
 * Returns a function that records an Event on each VM that has waited for a restart for a minute, one after another:
 * once each time KubeVirt says so, whichever worker watches. What an earlier worker has recorded has the same name.
 */
export function restartNotices(
  client: KubeClient,
  cache: Pick<ClusterCache, 'vms' | 'vmiOf' | 'isDelegated'>,
  ended: AbortSignal,
  isWatched: (namespace: string) => boolean,
): () => Promise<void> {
  let told = new Map<string, number>();
  return async () => {
    const last = told;
    told = new Map();
    for (const vm of cache.vms.values()) {
      if (ended.aborted) return;
      if (!isWatched(vm.namespace)) continue;
      const message = whyRestartIsDue(vm, cache.vmiOf(vm), client.clock.now());
      if (message === null || cache.isDelegated(vm.namespace)) continue;
      const since = vm.restartRequired!.since!;
      told.set(vm.uid, since);
      if (last.get(vm.uid) === since) continue;
      const note = `waits for a restart: ${message}: \`drover vm restart ${vm.name}\``;
      const event = { type: 'Warning', reason: 'RestartRequired', action: NOTICE_ACTION, note } as const;
      await recordVmEvent(client, vm, event, `${vm.uid}/${since}`);
    }
  };
}
