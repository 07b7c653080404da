import type { Members, MembersInput } from './members.ts';

/** What a set is doing, for its status line. */
export type SetPhase = 'Steady' | 'Starting' | 'ScalingOut' | 'ScalingIn' | 'Deleting' | 'Paused' | 'Failed';

/** Returns the most important of the things that the set is doing. */
export function phaseOf({ set, replicas, counting }: MembersInput, { active }: Members): SetPhase {
  const { replicas: wanted, paused } = set.spec;
  if (set.metadata.deletionTimestamp !== undefined) return 'Deleting';
  if (paused === true) return 'Paused';
  if (counting === 'eager' && active.length < wanted) return 'ScalingOut';
  if (replicas.length > active.length || active.length > wanted) return 'ScalingIn';
  if (active.length < wanted) return 'ScalingOut';
  return active.some(({ isReady, isHalted }) => !isReady && !isHalted) ? 'Starting' : 'Steady';
}
