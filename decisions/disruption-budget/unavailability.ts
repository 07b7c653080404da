import { countOf } from '../../api/lib/int-or-percent.ts';
import { DEFAULT_MAX_SURGE, DEFAULT_MAX_UNAVAILABLE } from '../../api/rules/pool-defaults.ts';
import { runsByItself, isDown, type VmiOf } from '../health/availability.ts';
import { isEvacuating } from '../views/evacuation.ts';
import type { StoredPool } from '../views/pool.ts';
import type { RegularVm } from '../views/vm.ts';
/** At least 1, unless the pool makes extra VMs instead: as in a Deployment, a percentage may then be 0. */
export function maxUnavailableOf(pool: StoredPool): number {
  const { maxUnavailable = DEFAULT_MAX_UNAVAILABLE, replicas } = pool.spec;
  return countOf(maxUnavailable, replicas, maxSurgeOf(pool) > 0 ? 0 : 1);
}

/** Each extra VM has its entry in the status of its pool. */
const MAX_SURGE = 1_000;

/** How many extra VMs the pool may have while VMs are updated. */
export const maxSurgeOf = ({ spec }: StoredPool): number =>
  Math.min(countOf(spec.maxSurge ?? DEFAULT_MAX_SURGE, spec.replicas, 0, Math.ceil), MAX_SURGE);

export interface UnavailabilityInput {
  pool: StoredPool;
  /** Replicas that stay in the pool. */
  vms: readonly RegularVm[];
  vmiOf: VmiOf;
  /** Names of VMs in progress, which may go down at any moment or have not come back yet. */
  inProgress: Iterable<string>;
}

/**
 * Returns the VMs that count against `maxUnavailable`: VMs that should run and are not ready, whatever the cause; VMs
 * that drover migrates off their nodes; VMs in progress; and missing VMs, if the pool's VMs start by themselves.
 */
export function unavailability({ pool, vms, vmiOf, inProgress }: UnavailabilityInput): {
  names: Set<string>;
  count: number;
} {
  const names = new Set(inProgress);
  const present = new Set<string>();
  for (const vm of vms) {
    present.add(vm.name);
    if (isDown(vm, vmiOf(vm)) || isEvacuating(vmiOf(vm))) names.add(vm.name);
  }
  const absentInProgress = [...names].filter((name) => !present.has(name)).length;
  const missing = runsByItself(pool.spec.template)
    ? Math.max(pool.spec.replicas - present.size - absentInProgress, 0)
    : 0;
  return { names, count: names.size + missing };
}
