import type { Condition } from '../../api/pool/pool.ts';
import {
  availableSince,
  isMeantToRun,
  isActive,
  maxUnavailableOf,
  type VmiOf,
} from '../disruption-budget/availability.ts';
import { formatNames } from '../lib/names.ts';
import type { StoredPool } from '../views/pool.ts';
import type { VmView } from '../views/vm.ts';
import { withTime } from './conditions.ts';

/** How many of a pool's VMs are available. */
export interface PoolAvailability {
  /** VMs that have been ready for `minReadySeconds`. */
  available: number;
  /** Names of VMs that should run, but are not ready or not yet ready for `minReadySeconds`. */
  unavailable: string[];
  /** How many VMs are missing from the spec's replicas. */
  missing: number;
  /** When the next VM becomes available by the passing of time alone; milliseconds since the epoch. */
  wakeAt: number | null;
}

/** VMs that become available within this time are reported together. */
const GATHER_MS = 1_000;

export function poolAvailability(
  pool: StoredPool,
  vms: readonly VmView[],
  vmiOf: VmiOf,
  now: number,
): PoolAvailability {
  const minReadyMs = (pool.spec.rollout?.minReadySeconds ?? 0) * 1000;
  const active = vms.filter(isActive);
  const unavailable: string[] = [];
  const times: number[] = [];
  let available = 0;
  for (const vm of active) {
    const vmi = vmiOf(vm);
    // A VM that its owner stopped is neither available nor unavailable.
    if (!isMeantToRun(vm, vmi)) continue;
    const since = availableSince(vm, vmi, minReadyMs);
    if (since !== null && since <= now) available++;
    else unavailable.push(vm.name);
    if (since !== null && since > now) times.push(since);
  }
  const missing = Math.max(pool.spec.replicas - active.length, 0);
  const wakeAt =
    times.length === 0
      ? null
      : Math.max(
          times.reduce((a, b) => Math.min(a, b)),
          now + GATHER_MS,
        );
  return { available, unavailable, missing, wakeAt };
}

/**
 * `Available`: at most `maxUnavailable` VMs are missing or not available, as for a Deployment. At least one VM must be
 * available: a pool of one is not available while its VM is down, although the disruption budget is never less than
 * one. `now` is RFC 3339.
 */
export function availableCondition(
  pool: StoredPool,
  { available, unavailable, missing }: PoolAvailability,
  now: string,
): Condition {
  const { replicas } = pool.spec;
  const tolerated = Math.min(maxUnavailableOf(pool), Math.max(replicas - 1, 0));
  const isAvailable = unavailable.length + missing <= tolerated;
  const words = [
    `${available} of ${replicas} VMs are available`,
    ...(missing === 0 ? [] : [`${missing} ${missing === 1 ? 'is' : 'are'} not there`]),
    ...(unavailable.length === 0 ? [] : [`not available: ${formatNames(unavailable)}`]),
  ];
  const reason = isAvailable ? 'MinimumReplicasAvailable' : 'MinimumReplicasUnavailable';
  const condition = {
    type: 'Available',
    status: isAvailable ? 'True' : 'False',
    reason,
    message: words.join('; '),
  } as const;
  return { ...withTime(pool, condition, now), observedGeneration: pool.metadata.generation ?? 0 };
}
