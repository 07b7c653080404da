import type { VmView } from '../../decisions/views/vm.ts';
import type { Fleet } from './cluster-cache.ts';

/**
 * Resolves with true once KubeVirt has taken notice of the VM's spec as `vm` has it, and with false where it has not
 * within `timeoutMs`, or the VM is another by then; rejects when `signal` is aborted. Until then a guest that goes
 * would come back with the spec before, or not at all where KubeVirt's controller is away.
 */
export async function untilSpecSeen(
  fleet: Fleet,
  vm: VmView,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  if (vm.specSeen) return true;
  const key = `${vm.namespace}/${vm.name}`;
  const isSeen = (): boolean => {
    const now = fleet.vms.get(key);
    return now?.uid === vm.uid && now.specSeen && BigInt(now.resourceVersion) >= BigInt(vm.resourceVersion);
  };
  const over = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const seen = Promise.withResolvers<boolean>();
  const end = (): void => (signal.aborted ? seen.reject(signal.reason as Error) : seen.resolve(false));
  over.addEventListener('abort', end);
  const unsubscribe = fleet.subscribe((change) => {
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
