import { EARLIER_MIGRATIONS_ANNOTATION, EVACUATION_LABEL, POOL_LABEL } from '../../api/labels-and-annotations.ts';
import type { KubeObject, Stored } from '../../api/objects.ts';
import { object, readAnnotation, readOrNull, whole } from '../lib/payload-reader.ts';
import { timeOf } from '../lib/time.ts';
import { attemptOf } from '../views/evacuation.ts';
import {
  NO_EARLIER_MIGRATIONS,
  type EarlierMigrations,
  type MigrationInFlight,
  type MigrationView,
} from '../views/migration.ts';
import { internOrNull } from './intern.ts';

/** The fields of KubeVirt's VirtualMachineInstanceMigration that drover reads and writes. */
export interface VirtualMachineInstanceMigration extends KubeObject {
  spec: { vmiName: string };
  status?: {
    phase?: string;
    phaseTransitionTimestamps?: { phase?: string; phaseTransitionTimestamp?: string }[];
    conditions?: { type?: string; status?: string }[];
    migrationState?: { failureReason?: string };
  };
}

/** KubeVirt has handed the migration to the nodes. A failure that comes quickly is seen without `Running`. */
const AT_WORK: readonly (string | undefined)[] = ['TargetReady', 'Running'];

/** Returns null for a migration that is not as drover makes them. */
export function migrationView(object: Stored<VirtualMachineInstanceMigration>): MigrationView | null {
  const { metadata, status } = object;
  const { labels = {}, name, resourceVersion } = metadata;
  const vmiUid = labels[EVACUATION_LABEL];
  const pool = labels[POOL_LABEL];
  const attempt = vmiUid === undefined ? null : attemptOf(vmiUid, name);
  if (vmiUid === undefined || attempt === null) return null;
  const hasFailed = status?.phase === 'Failed';
  const state = status?.phase === 'Succeeded' || hasFailed ? status.phase : 'Unfinished';
  const wasAtWork = status?.phaseTransitionTimestamps?.some(({ phase }) => AT_WORK.includes(phase)) ?? false;
  return {
    namespace: metadata.namespace!,
    name,
    resourceVersion,
    pool: internOrNull(pool),
    vmiUid,
    attempt,
    state: state as MigrationView['state'],
    createdAt: Date.parse(metadata.creationTimestamp),
    begunAt: begunAt(object),
    endedAt: firstOf(object, (phase) => phase === state),
    failedToMove: hasFailed && wasAtWork && metadata.deletionTimestamp === undefined,
    whyFailed: (hasFailed && status.migrationState?.failureReason) || null,
    earlier: readAnnotation(metadata.annotations?.[EARLIER_MIGRATIONS_ANNOTATION], EARLIER) ?? NO_EARLIER_MIGRATIONS,
  };
}

/** Reports whether a migration of whatever maker has not ended: KubeVirt then refuses another one of the same VMI. */
export const isInFlight = ({ status }: VirtualMachineInstanceMigration): boolean =>
  status?.phase !== 'Succeeded' && status?.phase !== 'Failed';

/** Returns null for a migration that has ended. */
export function inFlightView(object: Stored<VirtualMachineInstanceMigration>): MigrationInFlight | null {
  const { metadata, spec, status } = object;
  if (!isInFlight(object)) return null;
  const begun = begunAt(object);
  return {
    namespace: metadata.namespace!,
    name: metadata.name,
    vmiName: spec.vmiName,
    phase: status?.phase || 'Pending',
    createdAt: Date.parse(metadata.creationTimestamp),
    ...(begun === null ? {} : { begunAt: begun }),
    ...(isOverQuota(object) ? { overQuota: true } : {}),
  };
}

const isOverQuota = ({ status }: VirtualMachineInstanceMigration): boolean =>
  status?.conditions?.some((one) => one.type === 'migrationRejectedByResourceQuota' && one.status === 'True') ?? false;

const isPending = (phase: string | undefined): boolean => phase === undefined || phase === '' || phase === 'Pending';

/** KubeVirt leaves a migration pending while too many others run. One that a quota holds up waits for no others. */
function begunAt(object: Stored<VirtualMachineInstanceMigration>): number | null {
  const { metadata, status } = object;
  if (isPending(status?.phase) && !isOverQuota(object)) return null;
  return firstOf(object, (phase) => !isPending(phase)) ?? Date.parse(metadata.creationTimestamp);
}

/** When it came to the first of such phases, in milliseconds since the epoch; null if KubeVirt doesn't say. */
const firstOf = (
  { status }: VirtualMachineInstanceMigration,
  isMeant: (phase: string | undefined) => boolean,
): number | null =>
  timeOf(status?.phaseTransitionTimestamps?.find(({ phase }) => isMeant(phase))?.phaseTransitionTimestamp);

/** Returns the value of the annotation that the next migration gets. */
export const earlierMigrationsText = ({ ended, failures, since }: EarlierMigrations): string =>
  JSON.stringify({ ended, failures, since });

/** Anybody may write the annotation. */
const EARLIER = object<EarlierMigrations>({
  ended: whole,
  failures: whole,
  since: (value) => readOrNull(value, whole),
});
