import type { VmiView } from '../views/vmi.ts';

/** How far a migration by drover has come; `until`: by when more is known, in milliseconds since the epoch. */
type MigrationProgress = { state: 'failed'; why: string } | { state: 'waiting'; for: string; until?: number };

/** KubeVirt writes why a migration has failed a moment after the fact. */
const WHY_FAILED_MS = 5_000;

/** Returns how far this migration of a VMI has come that has not moved it. `attempt`: which one it is, from 1. */
export function progressOfAttempt(
  { evacuation, migration }: Pick<VmiView, 'evacuation' | 'migration'>,
  attempt: number,
  now: number,
): MigrationProgress {
  if (evacuation === null || evacuation.attempt < attempt || evacuation.state !== 'Failed')
    return { state: 'waiting', for: `its migration${stateOf(migration)}` };
  const { whyFailed, endedAt } = evacuation;
  if (whyFailed !== null) return { state: 'failed', why: `its migration has failed: ${whyFailed}` };
  const until = (endedAt ?? 0) + WHY_FAILED_MS;
  return until > now
    ? { state: 'waiting', for: 'KubeVirt to say why its migration has failed', until }
    : { state: 'failed', why: 'its migration has failed' };
}

const stateOf = (migration: VmiView['migration']): string =>
  migration === null
    ? ''
    : ` (${migration.phase}${migration.overQuota === true ? '; a ResourceQuota rejects its pod' : ''})`;

/**
 * From when the time of a VM counts that drover migrates, in milliseconds since the epoch: KubeVirt migrates a few VMIs
 * at once, and has others to do first; but nothing waits for ever.
 */
export const migrationCountsFrom = (
  { evacuation }: Pick<VmiView, 'evacuation'>,
  since: number,
  deadlineMs: number,
  now: number,
): number => Math.min(Math.max(evacuation?.begunAt ?? now, since), since + deadlineMs);
