import type { ConditionReason } from '../../api/reasons.ts';

/**
 * Housekeeping, each kind in its own lane, so that none waits for another that is refused again and again; and as
 * which failure it counts if it is. What keeps an owner from what its spec says comes first.
 */
export const HOUSEKEEPING = {
  addLabels: 'FailedLabel',
  changeMembers: 'FailedChangeMembers',
  keepReplicas: 'FailedKeepReplicas',
  setRoles: 'FailedSetRoles',
  removeDiskFinalizers: 'FailedRemoveDiskFinalizers',
  removeLabels: 'FailedUnlabel',
  annotateRuns: 'FailedAnnotateRuns',
  clearNamedRemovals: 'FailedClearNamedRemovals',
  unlabelKeptDisks: 'FailedUnlabelKeptDisks',
  createRevision: 'FailedCreateRevision',
  deleteRevisions: 'FailedDeleteRevisions',
  lookAtCheck: 'FailedCheck',
} as const satisfies Record<string, ConditionReason<'HousekeepingFailure'>>;

export type HousekeepingKind = keyof typeof HOUSEKEEPING;
export type HousekeepingReason = (typeof HOUSEKEEPING)[HousekeepingKind];

const KINDS = new Map(Object.entries(HOUSEKEEPING).map(([kind, reason]) => [reason, kind as HousekeepingKind]));

/** The kind of housekeeping that fails for this reason; undefined if the reason is of something else. */
export const housekeepingOf = (reason: string): HousekeepingKind | undefined => KINDS.get(reason as HousekeepingReason);
