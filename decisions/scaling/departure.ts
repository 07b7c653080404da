import { ORPHAN_FINALIZER } from '../../api/names.ts';
import { isActive } from '../disruption-budget/availability.ts';
import type { StoredPool } from '../views/pool.ts';
import type { VmView } from '../views/vm.ts';

/** Why VMs leave their pool, and what the plan was based on. */
export type Departure =
  /**
   * The pool has more VMs than it wants. `generation`: of the planned spec; `others`: names of VMs that other steps
   * were removing at that time.
   */
  | { because: 'surplus'; generation: number; others: readonly string[] }
  /** They were marked as leaving earlier. If the pool grows again, it replaces them. */
  | { because: 'marked' }
  | { because: 'pool deleted' }
  /** The VM is terminating, and held until its disks are released. */
  | { because: 'going' };

export interface DepartureInput {
  departure: Departure;
  /** As the API server has it now; undefined if it is deleted. */
  pool: StoredPool | undefined;
  /** All known VMs that the pool owns. */
  vms: readonly VmView[];
  /** Names of the VMs that leave in this step. */
  leaving: ReadonlySet<string>;
}

/**
 * Returns why a VM must not leave any more; null if it may. A step may run long after it was planned. If the spec has
 * changed since, only a new plan can decide, because only a plan knows all steps in progress. Steps for the unchanged
 * spec were planned together, and never remove more than the surplus between them. `others` and `leaving` count as
 * removed, whatever became of them: VMs that somebody else deleted meanwhile may have left too few.
 */
export function whyStay({ departure, pool, vms, leaving }: DepartureInput): string | null {
  if (departure.because === 'going') return null;
  if (pool === undefined) return 'its pool is gone';
  const { deletionTimestamp, generation = 0, finalizers = [] } = pool.metadata;
  if (departure.because === 'marked') return finalizers.includes(ORPHAN_FINALIZER) ? 'its pool lets its VMs go' : null;
  if (departure.because === 'pool deleted')
    return deletionTimestamp !== undefined && !finalizers.includes(ORPHAN_FINALIZER)
      ? null
      : 'its pool lets its VMs go';
  if (generation !== departure.generation) return 'its pool has changed since';
  const others = new Set(departure.others);
  const active = vms.filter((vm) => isActive(vm) && !leaving.has(vm.name) && !others.has(vm.name));
  return active.length < pool.spec.replicas
    ? `its pool would have ${active.length} VMs of ${pool.spec.replicas}`
    : null;
}

export interface ArrivalInput {
  /** Generation of the spec that this was planned for; undefined if the VM replaces another. */
  generation: number | undefined;
  /** As the API server has it now; undefined if it is deleted. */
  pool: StoredPool | undefined;
  /** All known VMs that the pool owns. */
  vms: readonly VmView[];
  /** Name of the VM to create; `made`: names that this step has created or is creating. */
  name: string;
  made: ReadonlySet<string>;
}

/** Returns why a VM must not be created any more; null if it may. */
export function whyNotMake({ generation, pool, vms, name, made }: ArrivalInput): string | null {
  if (pool === undefined || pool.metadata.deletionTimestamp !== undefined) return 'its pool is gone';
  if (generation !== undefined)
    return (pool.metadata.generation ?? 0) === generation ? null : 'its pool has changed since';
  const others = new Set([...vms.map((vm) => vm.name), ...made]);
  others.delete(name);
  return others.size < pool.spec.replicas
    ? null
    : `its pool has ${others.size} VMs of ${pool.spec.replicas} without it`;
}
