import type { EarlierMigrations, MigrationView } from './migration.ts';

/** What drover's migrations of a VMI say, in a row, without having moved it. */
export interface Evacuation extends EarlierMigrations {
  /** The newest migration, which the sums include. */
  attempt: number;
  state: MigrationView['state'];
  /** When KubeVirt began the newest, in milliseconds since the epoch; null while it has others to do first. */
  begunAt: number | null;
  /** When the newest ended, in milliseconds since the epoch; null while it is unfinished. */
  endedAt: number | null;
  /** Why the newest failed, in KubeVirt's words; null if it has not, or KubeVirt gives none. */
  whyFailed: string | null;
}

/**
 * Why drover migrates a VMI: its node is drained, its pod lacks something of the template, or an operation asks for it.
 */
export type MigrationPurpose = 'drain' | 'update' | 'operation';

/**
 * Derives the name of a migration from the VMI and the attempt, so that retries and concurrent workers create it only
 * once.
 */
export const migrationName = (purpose: MigrationPurpose, vmiUid: string, attempt: number): string =>
  `${purpose}-${vmiUid}-${attempt}`;

/** Returns the attempt number in a migration's name; null if the migration is not drover's, of this VMI. */
export function attemptOf(vmiUid: string, name: string): number | null {
  const [, uid, number] = /^(?:drain|update|operation)-(.+)-(\d+)$/.exec(name) ?? [];
  const attempt = uid === vmiUid ? Number(number) : NaN;
  return Number.isSafeInteger(attempt) && attempt > 0 ? attempt : null;
}

/**
 * Sums up drover's migrations of one VMI, of which KubeVirt may have deleted the older ones; null if there are none.
 */
export function evacuationOf(migrations: readonly MigrationView[]): Evacuation | null {
  const [first, ...others] = migrations;
  if (first === undefined) return null;
  const newest = others.reduce((a, b) => (b.attempt > a.attempt ? b : a), first);
  const { attempt, state, begunAt, createdAt, endedAt, failedToMove, whyFailed, earlier } = newest;
  return {
    attempt,
    state,
    ended: earlier.ended + Number(state === 'Failed'),
    failures: earlier.failures + Number(failedToMove),
    since: earlier.since ?? begunAt,
    begunAt,
    endedAt: state === 'Unfinished' ? null : (endedAt ?? createdAt),
    whyFailed,
  };
}

/** Reports whether a migration by drover moves the VMI now: the VM may go down by it. */
export const isEvacuating = (vmi: { evacuation: Evacuation | null } | undefined): boolean =>
  vmi?.evacuation?.state === 'Unfinished';
