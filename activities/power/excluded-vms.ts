import type { Chosen } from '../../decisions/disruption-budget/restart-budget.ts';
import { meantVms } from '../../decisions/operations/choose.ts';
import { limitsOf, type RunLimits } from '../../decisions/operations/limits.ts';
import type { StoredOperation } from '../../decisions/views/stored-operation.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { scopeOf, type ScopeCaches } from '../operations/scope.ts';

/** Completes "it is left as it is:". */
const NOT_MEANT = 'the operation does not include it';

type Cache = ScopeCaches & Pick<ClusterCache, 'vms'>;

/** Returns the limits of a run of the operation over these VMs. `deadlineMs`: if it is deleted. */
export function limitsOver(
  cache: Cache,
  operation: StoredOperation | undefined,
  chosen: Chosen,
  deadlineMs: number,
): RunLimits {
  if (operation === undefined) return { atOnce: 0, maxFailures: 0, deadlineMs };
  const { vms } = operation.spec;
  const names = vms.names === undefined ? null : new Set(vms.names);
  const { includes } = scopeOf(cache, operation);
  let count = 0;
  // Names that are made up must not raise a limit in percent.
  for (const key of chosen.keys()) {
    const vm = cache.vms.get(key);
    if (vm !== undefined && includes(vm.namespace) && (names === null || names.has(vm.name))) count++;
  }
  return limitsOf(operation, count);
}

/** Returns why a VM is not to be touched, ever; null if the operation is about it. */
export function whyExcludedBy(
  cache: Cache,
  operation: StoredOperation | undefined,
): (vm: VmView, vmi: VmiView | undefined) => string | null {
  const isMeant = operation === undefined ? () => false : meantVms(operation, scopeOf(cache, operation));
  return (vm, vmi) => (isMeant(vm, vmi) ? null : NOT_MEANT);
}
