import type { VmView } from '../../decisions/views/vm.ts';
import type { ClusterCache } from './cluster-cache.ts';
import { shownWithin } from './shown-within.ts';

/**
 * Resolves to true once KubeVirt has observed the VM's spec as `vm` has it; to false if it has not within `timeoutMs`,
 * or if the VM has been replaced by then. Rejects when `signal` is aborted. A VMI that stops earlier would come back
 * with the previous spec, or not at all if KubeVirt's controller is down.
 */
export async function waitForObservedGeneration(
  cache: ClusterCache,
  vm: VmView,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  const isSeen = (): boolean => {
    const now = cache.vms.get(`${vm.namespace}/${vm.name}`);
    return now?.uid === vm.uid && now.generationObserved && BigInt(now.resourceVersion) >= BigInt(vm.resourceVersion);
  };
  return vm.generationObserved || (await shownWithin(cache, isSeen, timeoutMs, signal));
}
