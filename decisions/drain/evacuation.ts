import type { MigrationView } from '../views/migration.ts';

/** What the migrations say by which drover has tried to move a VMI since it last moved. */
export interface Evacuation {
  /** The newest migration. */
  attempt: number;
  state: MigrationView['state'];
  /** How many have failed in a row. */
  failures: number;
  /** When the first of those in a row was created, in milliseconds since the epoch. */
  since: number;
  /** When the newest ended, in milliseconds since the epoch; null while it is unfinished. */
  endedAt: number | null;
  /** Why the last one failed, in KubeVirt's words; null if it has not, or KubeVirt gives none. */
  whyFailed: string | null;
}

/**
 * Derives the name of a migration from the VMI and the attempt, so that retries and concurrent workers create it only
 * once.
 */
export const migrationName = (vmiUid: string, attempt: number): string => `drain-${vmiUid}-${attempt}`;

/** Returns the attempt number in a migration's name; null if the migration is not for this VMI. */
export function attemptOf(vmiUid: string, name: string): number | null {
  const attempt = name.startsWith(`drain-${vmiUid}-`) ? Number(name.slice(`drain-${vmiUid}-`.length)) : NaN;
  return Number.isSafeInteger(attempt) && attempt > 0 ? attempt : null;
}

/** Sums up drover's migrations of one VMI; null if there are none. */
export function evacuationOf(migrations: readonly MigrationView[]): Evacuation | null {
  const inOrder = migrations.toSorted((one, other) => one.attempt - other.attempt);
  const newest = inOrder.at(-1);
  if (newest === undefined) return null;
  const before = inOrder.slice(0, -1);
  const inARow = [...before.slice(before.findLastIndex(({ state }) => state === 'Succeeded') + 1), newest];
  return {
    attempt: newest.attempt,
    state: newest.state,
    failures: inARow.filter(({ state }) => state === 'Failed').length,
    since: inARow[0]!.createdAt,
    endedAt: newest.state === 'Unfinished' ? null : (newest.endedAt ?? newest.createdAt),
    whyFailed: inARow.findLast(({ whyFailed }) => whyFailed !== null)?.whyFailed ?? null,
  };
}

/** Reports whether a migration by drover moves the VMI now: the VM may go down by it. */
export const isEvacuating = (vmi: { evacuation: Evacuation | null } | undefined): boolean =>
  vmi?.evacuation?.state === 'Unfinished';
