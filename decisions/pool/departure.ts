import { ORPHAN_FINALIZER } from '../../api/names.ts';
import { isStaying } from '../disruption-budget/availability.ts';
import type { StoredPool } from '../views/pool.ts';
import type { VmView } from '../views/vm.ts';

/** Why VMs leave their pool, and what the plan that said so went by. */
export type Departure =
  /**
   * The pool has more than it wants. `generation`: of its spec then; `others`: names of VMs that were leaving it
   * besides.
   */
  | { because: 'surplus'; generation: number; others: readonly string[] }
  /** They were marked as leaving before: the pool replaces them, should it grow again. */
  | { because: 'marked' }
  | { because: 'pool deleted' }
  /** It is going already, and is held until its disks are let go. */
  | { because: 'going' };

export interface DepartureInput {
  departure: Departure;
  /** As the API server has it in this moment; undefined if it is gone. */
  pool: StoredPool | undefined;
  /** VMs that the pool owns, as far as they are known. */
  vms: readonly VmView[];
  /** Names of the VMs that leave by this act. */
  leaving: ReadonlySet<string>;
}

/**
 * Why a VM may not leave any more; null if it may. An act may come long after its plan: a spec that has changed since
 * is for a new plan to judge, for only that knows of all acts that are under way. Acts for the spec as it is were
 * planned with each other in view, and together take no more than it gives away. `others` and those of this act count
 * as gone, whatever has become of them: VMs that went besides, by other hands, may have left too few.
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
  const staying = vms.filter((vm) => isStaying(vm) && !leaving.has(vm.name) && !others.has(vm.name));
  return staying.length < pool.spec.replicas
    ? `its pool would have ${staying.length} VMs of ${pool.spec.replicas}`
    : null;
}

export interface ArrivalInput {
  /** Generation of the spec that it was planned for; undefined where one VM is to take the place of another. */
  generation: number | undefined;
  /** As the API server has it in this moment; undefined if it is gone. */
  pool: StoredPool | undefined;
  /** VMs that the pool owns, as far as they are known. */
  vms: readonly VmView[];
  /** Name of the VM that is to be made, and of those that have been made or are being made by this act. */
  name: string;
  made: ReadonlySet<string>;
}

/** Why a VM is not to be made any more; null if it is. */
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
