import { availableSurgeIn, minReadyMsOf } from '../disruption-budget/budget.ts';
import { maxUnavailableOf } from '../disruption-budget/unavailability.ts';
import {
  availableSince,
  isActive,
  isMeantToRun,
  runsByItself,
  type MaybeAvailable,
  type VmiOf,
} from '../health/availability.ts';
import { earliestAfter } from '../lib/earlier-and-later.ts';
import { formatNames } from '../lib/names.ts';
import type { UntimedCondition } from '../owners/conditions.ts';
import type { StoredVmOwner } from '../views/owner.ts';
import type { StoredPool } from '../views/pool.ts';
import { isRegular, type VmView } from '../views/vm.ts';

/** How many of the VMs of a pool or a set are available. */
export interface Availability {
  /** VMs that have been ready for `minReadySeconds`. */
  available: number;
  /** Names of VMs that should run, but are not ready or not yet ready for `minReadySeconds`. */
  unavailable: string[];
  /** Names of members that need not run, and why they don't. */
  notRunning: { names: string[]; message: string };
  /** How many VMs are missing from the spec's replicas. */
  missing: number;
  /** How many VMs are available beyond the replicas, so that as many of those may be down; absent if none can be. */
  availableSurge?: number;
  /** When the next VM becomes available by the passing of time alone; milliseconds since the epoch. */
  requeueAt: number | null;
}

/** VMs that become available within this time are reported together. */
const GATHER_MS = 1_000;

export const poolAvailability = (pool: StoredPool, vms: readonly VmView[], vmiOf: VmiOf, now: number): Availability => {
  const minReadyMs = minReadyMsOf(pool);
  const since = (vm: VmView): MaybeAvailable['availableSince'] => {
    const vmi = vmiOf(vm);
    return isMeantToRun(vm, vmi) ? availableSince(vm, vmi, minReadyMs) : undefined;
  };
  const all = vms.filter((vm) => isRegular(vm) && isActive(vm));
  const active = all.map((vm) => ({ name: vm.name, availableSince: since(vm) }));
  const { size } = availableSurgeIn({ pool, vms, vmiOf, now });
  const wanted = { replicas: pool.spec.replicas, isToRun: runsByItself(pool.spec.template) };
  return { ...availabilityOf(wanted, active, now), availableSurge: size };
};

/** Counts the active members of a pool or a set that are available. `isToRun`: its template has them start. */
export function availabilityOf(
  { replicas, isToRun }: { replicas: number; isToRun: boolean },
  active: readonly MaybeAvailable[],
  now: number,
): Availability {
  const unavailable: string[] = [];
  const stopped: string[] = [];
  let available = 0;
  for (const { name, availableSince: since } of active) {
    if (since === undefined) stopped.push(name);
    else if (since !== null && since <= now) available++;
    else unavailable.push(name);
  }
  const missing = Math.max(replicas - active.length, 0);
  const next = earliestAfter(
    now,
    active.map(({ availableSince: since = null }) => since),
  );
  const requeueAt = next === null ? null : Math.max(next, now + GATHER_MS);
  // An evicted pod, too, may end a guest in good order: KubeVirt does not say who has stopped it.
  const notRunning = { names: stopped, message: isToRun ? 'stopped by users or their guests' : 'not started' };
  return { available, unavailable, notRunning, missing, requeueAt };
}

/**
 * `Available`: at most `maxUnavailable` VMs are missing or not available, as for a Deployment; stopped VMs aside. At
 * least one VM must be available, if the template has VMs run: a pool of one is not available while its VM is down or
 * stopped, although the disruption budget is never less than one.
 */
export function availableCondition(pool: StoredPool, availability: Availability): UntimedCondition {
  const { available, unavailable, missing, availableSurge = 0 } = availability;
  const isUp = available + availableSurge > 0 || pool.spec.replicas === 0;
  const isMinimum = isUp || (!runsByItself(pool.spec.template) && unavailable.length + missing === 0);
  const isWithin = unavailable.length + missing - availableSurge <= maxUnavailableOf(pool);
  return availableWhile(pool, availability, isMinimum && isWithin);
}

/** `Available` in words, for an owner that is, or is not. */
export function availableWhile(
  owner: StoredVmOwner,
  { available, unavailable, notRunning, missing, availableSurge = 0 }: Availability,
  isAvailable: boolean,
  what: 'VMs' | 'VMIs' = 'VMs',
): UntimedCondition {
  const { replicas } = owner.spec;
  const parts = [
    `${available} of ${replicas} ${what} are available${availableSurge === 0 ? '' : `, and ${availableSurge} extra`}`,
    ...(missing === 0 ? [] : [`${missing} ${missing === 1 ? 'is' : 'are'} missing`]),
    ...(unavailable.length === 0 ? [] : [`not available: ${formatNames(unavailable)}`]),
    ...(notRunning.names.length === 0 ? [] : [`${notRunning.message}: ${formatNames(notRunning.names)}`]),
  ];
  return {
    type: 'Available',
    status: isAvailable ? 'True' : 'False',
    reason: isAvailable ? 'MinimumReplicasAvailable' : 'MinimumReplicasUnavailable',
    message: parts.join('; '),
    observedGeneration: owner.metadata.generation ?? 0,
  };
}
