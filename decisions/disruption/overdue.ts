import type { Operation, OperationKind } from '../views/operation.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/**
 * How long what holds a VM usually takes at most, in milliseconds. KubeVirt has no limit for most of these, and what
 * has hung would be waited for without a word.
 */
export const USUAL_MS: Readonly<Record<OperationKind | 'Migration', number>> = {
  ManualRecovery: 0,
  Hotplug: 15 * MINUTE_MS,
  Freeze: 15 * MINUTE_MS,
  Snapshot: HOUR_MS,
  MemoryDump: HOUR_MS,
  Migration: 6 * HOUR_MS,
  Restore: 6 * HOUR_MS,
  Backup: 24 * HOUR_MS,
  VolumeMigration: 24 * HOUR_MS,
};

/** When the operation has taken too long, in milliseconds since the epoch; never, if its begin is not known. */
export const overdueAt = ({ kind, since = Infinity }: Operation): number => since + USUAL_MS[kind];

/** When a migration by another client has taken too long, in milliseconds since the epoch. */
export const migrationOverdueAt = ({ createdAt }: { createdAt: number }): number => createdAt + USUAL_MS.Migration;

/** Returns the operations with those marked that have taken too long by now (milliseconds since the epoch). */
export const withOverdue = (operations: readonly Operation[], now: number): readonly Operation[] =>
  operations.some((one) => overdueAt(one) <= now)
    ? operations.map((one) => (overdueAt(one) <= now ? { ...one, isOverdue: true } : one))
    : operations;
