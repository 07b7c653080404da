import type { VmView } from '../../decisions/views/vm.ts';
import type { ClusterCache } from './cluster-cache.ts';

/**
 * Resolves with true once KubeVirt has taken notice of the VM's spec as `vm` has it, and with false where it has not
 * within `timeoutMs`, or the VM is another by then; rejects when `signal` is aborted. Until then a guest that goes
 * would come back with the spec before, or not at all where KubeVirt's controller is away.
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
