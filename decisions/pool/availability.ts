import type { Condition } from '../../api/pool/pool.ts';
import {
  availableSince,
  isMeantToRun,
  isStaying,
  maxUnavailableOf,
  type VmiOf,
} from '../disruption-budget/availability.ts';
import { formatNames } from '../lib/names.ts';
import type { StoredPool } from '../views/pool.ts';
import type { VmView } from '../views/vm.ts';
import { withTime } from './conditions.ts';

/** How many of a pool's VMs can be counted on. */
export interface PoolAvailability {
  /** VMs that have been ready for `minReadySeconds`. */
  available: number;
  /** Names of those that should run, and are not ready or have not been for long enough. */
  unavailable: string[];
  /** How many there are too few. */
  missing: number;
  /** When one becomes available by the clock alone; milliseconds since the epoch. */
  wakeAt: number | null;
}

/** VMs that become available within this time are told together. */
const GATHER_MS = 1_000;

export function poolAvailability(
  pool: StoredPool,
  vms: readonly VmView[],
  vmiOf: VmiOf,
  now: number,
): PoolAvailability {
  const minReadyMs = (pool.spec.rollout?.minReadySeconds ?? 0) * 1000;
  const staying = vms.filter(isStaying);
  const unavailable: string[] = [];
  const times: number[] = [];
  let available = 0;
  for (const vm of staying) {
    const vmi = vmiOf(vm);
    // One that its owner has stopped is neither.
    if (!isMeantToRun(vm, vmi)) continue;
    const since = availableSince(vm, vmi, minReadyMs);
    if (since !== null && since <= now) available++;
    else unavailable.push(vm.name);
    if (since !== null && since > now) times.push(since);
  }
  const missing = Math.max(pool.spec.replicas - staying.length, 0);
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
 * `Available`: no more VMs than `maxUnavailable` are missing or not available, as a Deployment says it. One VM at least
 * is: a pool of one that is down is not available, though its budget is never less than one. RFC 3339 `now`.
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
