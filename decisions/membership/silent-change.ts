import { MEMBERSHIP_CHANGE_ANNOTATION } from '../../api/names.ts';
import { formatNames } from '../lib/names.ts';
import type { PoolStep } from '../owners/steps.ts';
import type { StoredPool } from '../views/pool.ts';
import { isListed, membershipChangeOf, type ListedChange, type MembershipChange } from './change.ts';

/**
 * How long a command may say nothing before the pool goes on without it. A command reports ten times as often: clocks
 * may differ by minutes.
 */
export const SILENCE_MS = 5 * 60_000;

interface Given {
  pool: StoredPool;
  /** Milliseconds since the epoch. */
  now: number;
}

/**
 * Returns the step that takes a change off the pool whose command was killed: the VMs that have moved by then stay
 * where they are, and so do the others. Only the commands know how a takeover or a release goes on, and have the rights
 * for it.
 */
export function silentChangeSteps(given: Given): PoolStep[] {
  const change = endedBySilence(given.pool);
  if (change === null || !isSilent(change, given.now)) return [];
  const names = formatNames(change.vms.map(({ name }) => name));
  return [
    {
      kind: 'endMembershipChange',
      mark: given.pool.metadata.annotations?.[MEMBERSHIP_CHANGE_ANNOTATION] ?? '',
      reason: `go on without the command that was to ${change.kind} ${names}: it stopped reporting`,
    },
  ];
}

/** When the pool goes on without the command, unless that reports. */
export function silentChangeWake({ pool, now }: Given): { wakeAt: number | null } {
  const change = endedBySilence(pool);
  const at = change === null ? null : silentAt(change);
  return { wakeAt: change === null || at === null || isSilent(change, now) ? null : at };
}

function endedBySilence(pool: StoredPool): (MembershipChange & ListedChange) | null {
  const change = pool.metadata.deletionTimestamp === undefined ? membershipChangeOf(pool) : null;
  return change !== null && change !== 'unreadable' && isListed(change) ? change : null;
}

/**
 * Reports whether the command of this change has said nothing for too long. Commands report by the API server's clock:
 * a report from the future is none, and would hold the pool until then. `now`: milliseconds since the epoch.
 */
export const isSilent = (change: MembershipChange & ListedChange, now: number): boolean =>
  now >= silentAt(change) || now < silentAt(change) - 2 * SILENCE_MS;

/**
 * Reports whether the pool has come back from a backup since this change was begun: the VMs that the change names have
 * other UIDs now, or are gone.
 */
export const isOfEarlierPool = ({ at }: MembershipChange & ListedChange, pool: StoredPool): boolean =>
  Date.parse(at) < Date.parse(pool.metadata.creationTimestamp ?? '');

const silentAt = ({ at, reportedAt = at }: MembershipChange & ListedChange): number =>
  Date.parse(reportedAt) + SILENCE_MS;
