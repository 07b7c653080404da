import { isActive, isReady } from '../health/availability.ts';
import { isHalted, isRegular } from '../views/vm.ts';
import type { Decided } from './all-steps.ts';
import type { PoolContext } from './context.ts';

/** What a pool is doing, for its status line. */
export type PoolPhase =
  | 'Steady'
  | 'Starting'
  | 'ScalingOut'
  | 'ScalingIn'
  | 'Deleting'
  | 'RollingOut'
  | 'Waiting'
  | 'Paused'
  | 'Undoing'
  | 'Failed'
  | 'Healing';

/** The phases of its rollout that are more important than anything else it does. */
const OF_ROLLOUT = ['RollingOut', 'Waiting', 'Paused', 'Undoing', 'Failed'] as const;

/** Returns the most important of the things that the pool is doing. */
export function phaseOf(
  { pool, vms, vmiOf }: PoolContext,
  { rollout: { phase: rollout }, healing, scaling: { blocked } }: Decided,
): PoolPhase {
  if (pool.metadata.deletionTimestamp !== undefined) return 'Deleting';
  const regular = vms.filter(isRegular);
  const heals = healing.state.cycles.length > 0;
  if ((!heals && !regular.every(isActive)) || regular.length > pool.spec.replicas + (blocked?.count ?? 0))
    return 'ScalingIn';
  const ofRollout = OF_ROLLOUT.find((phase) => phase === rollout);
  if (ofRollout !== undefined) return ofRollout;
  if (heals) return 'Healing';
  if (regular.length < pool.spec.replicas) return 'ScalingOut';
  return regular.some((vm) => !isReady(vm, vmiOf(vm)) && !isHalted(vm)) ? 'Starting' : 'Steady';
}
