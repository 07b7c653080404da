import { isEvacuating } from '../views/evacuation.ts';
import type { VmiView } from '../views/vmi.ts';

/** How far a migration by drover has come; `until`: by when more is known, in milliseconds since the epoch. */
type MigrationProgress = { state: 'failed'; message: string } | { state: 'waiting'; why: string; until?: number };

/** KubeVirt writes why a migration has failed a moment after the fact. */
const FAILURE_MESSAGE_MS = 5_000;

/**
 * How long a migration may be Pending before drover takes it back: KubeVirt gives up a pod that does not come up after
 * that time (`defaultCatchAllPendingTimeoutSeconds`), but has no limit for a migration that it does not begin.
 */
const BEGIN_MS = 15 * 60_000;

type Pending = Pick<VmiView, 'evacuation' | 'migration'>;

/** When KubeVirt should have begun drover's migration of the VMI, in milliseconds since the epoch; null if it has. */
export const shouldBeginBy = ({ evacuation, migration }: Pending): number | null =>
  isEvacuating({ evacuation }) && evacuation!.begunAt === null && migration !== null
    ? migration.createdAt + BEGIN_MS
    : null;

/**
 * Says that KubeVirt has not begun the migration. Why, nothing tells: KubeVirt begins none of a VMI while two of its
 * pods run, but `status.activePods` names those of earlier migrations, too, which have ended.
 */
export const whyNotBegun = ({ migration }: Pick<VmiView, 'migration'>): string =>
  `KubeVirt has not begun its migration ${migration?.name ?? ''} within ${BEGIN_MS / 60_000} min`;

/** Returns how far this migration of a VMI has come that has not moved it. `attempt`: which one it is, from 1. */
export function progressOfAttempt(
  { evacuation, migration }: Pick<VmiView, 'evacuation' | 'migration'>,
  attempt: number,
  now: number,
): MigrationProgress {
  if (evacuation === null || evacuation.attempt < attempt || evacuation.state !== 'Failed')
    return { state: 'waiting', why: `its migration has not ended${stateOf(migration)}` };
  const { whyFailed, endedAt } = evacuation;
  if (whyFailed !== null) return { state: 'failed', message: `its migration has failed: ${whyFailed}` };
  const until = (endedAt ?? 0) + FAILURE_MESSAGE_MS;
  return until > now
    ? { state: 'waiting', why: 'KubeVirt has not said yet why its migration has failed', until }
    : { state: 'failed', message: 'its migration has failed' };
}

const stateOf = (migration: VmiView['migration']): string =>
  migration === null ? '' : ` (${migration.phase}${quotaOf(migration)})`;

/** KubeVirt's phases of a migration that it leaves by itself only once something else has happened. */
const LASTING_PHASES: ReadonlySet<string> = new Set(['Pending', 'WaitingForSync', 'Synchronizing']);

type InFlight = NonNullable<VmiView['migration']>;

const quotaOf = ({ overQuota }: Pick<InFlight, 'overQuota'>): string =>
  overQuota === true ? '; a ResourceQuota rejects its pod' : '';

/**
 * Says which migration a VM waits for; completes its name to a sentence. A migration that KubeVirt has not begun may
 * wait forever, and so may one that waits for another cluster, so a user must be able to find it. The phases of others
 * follow within seconds, and are not reported.
 */
export const whyMigrating = ({ name, phase, createdAt, ...more }: InFlight): string =>
  LASTING_PHASES.has(phase)
    ? `its migration ${name}, made at ${new Date(createdAt).toISOString()}, is ${phase}${quotaOf(more)}`
    : `it migrates (${name})`;

/**
 * From when the time of a VM counts that KubeVirt migrates by itself for a live update, in milliseconds since the
 * epoch: since that migration has begun; and until then not while KubeVirt migrates others that were begun with it,
 * because it has few places for migrations. `all`: the VMIs that were begun together.
 */
export function liveUpdateCountsFrom(
  { migration }: Pick<VmiView, 'migration'>,
  all: readonly Pick<VmiView, 'migration' | 'migratedAt'>[],
  since: number,
  now: number,
): number {
  if (isBegun(migration)) return Math.max(migration.begunAt ?? migration.createdAt, since);
  if (all.some((one) => isBegun(one.migration))) return now;
  return all.reduce((latest, { migratedAt }) => Math.max(latest, migratedAt ?? 0), since);
}

const isBegun = (migration: VmiView['migration']): migration is InFlight =>
  migration !== null && migration.phase !== 'Pending';

/**
 * From when the time of a VM counts that drover migrates, in milliseconds since the epoch: KubeVirt migrates a few VMIs
 * at once, and others may come first; but nothing waits forever.
 */
export const migrationCountsFrom = (
  { evacuation }: Pick<VmiView, 'evacuation'>,
  since: number,
  deadlineMs: number,
  now: number,
): number => Math.min(Math.max(evacuation?.begunAt ?? now, since), since + deadlineMs);
