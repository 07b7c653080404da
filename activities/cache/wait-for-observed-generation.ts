import type { VmView } from '../../decisions/views/vm.ts';
import type { ClusterCache } from './cluster-cache.ts';

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
  if (vm.generationObserved) return true;
  const key = `${vm.namespace}/${vm.name}`;
  const isSeen = (): boolean => {
    const now = cache.vms.get(key);
    return now?.uid === vm.uid && now.generationObserved && BigInt(now.resourceVersion) >= BigInt(vm.resourceVersion);
  };
  const over = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const seen = Promise.withResolvers<boolean>();
  const end = (): void => (signal.aborted ? seen.reject(signal.reason as Error) : seen.resolve(false));
  over.addEventListener('abort', end);
  const unsubscribe = cache.subscribe((change) => {
    if (change.kind === 'vm' && isSeen()) seen.resolve(true);
  });
  try {
    if (over.aborted) end();
    return isSeen() || (await seen.promise);
  } finally {
    unsubscribe();
    over.removeEventListener('abort', end);
  }
}
