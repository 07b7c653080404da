import type { ConditionType } from '../../api/reasons.ts';

export type Urgency = 'bad' | 'warn' | 'busy';

/**
 * Conditions that say why VMs are missing, not ready or about to move, or what drover can't see or do, with how bad
 * that is; the worst first.
 */
export const URGENCY: Readonly<Partial<Record<ConditionType, Urgency>>> = {
  Stalled: 'bad',
  ReplicaFailure: 'bad',
  Degraded: 'bad',
  HealingSuspended: 'bad',
  Contended: 'bad',
  Overlapping: 'bad',
  HousekeepingFailure: 'warn',
  ScaleInBlocked: 'warn',
  ConfigurationNotWatched: 'warn',
  Drifted: 'warn',
  Healing: 'busy',
  Draining: 'busy',
  MembershipChanging: 'busy',
  Restoring: 'busy',
  Progressing: 'busy',
  Paused: 'busy',
};

export const urgencyOf = (type: string): Urgency | undefined => URGENCY[type as ConditionType];

/** Conditions that nothing else reports to a user: what can't be done, or is in the way; they may pass. */
export const FAILING = Object.keys(URGENCY).filter(
  (type) => urgencyOf(type) === 'bad' && !['Stalled', 'Degraded', 'HealingSuspended'].includes(type),
);
