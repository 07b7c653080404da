import { EVACUATION_LABEL, POOL_LABEL } from '../../../api/names.ts';
import type { KubeObject, Stored } from '../../../api/objects.ts';
import { attemptOf } from '../../drain/evacuation.ts';
import type { MigrationView } from '../migration.ts';
import { intern } from './intern.ts';

/** The fields of KubeVirt's VirtualMachineInstanceMigration that drover reads and writes. */
export interface VirtualMachineInstanceMigration extends KubeObject {
  spec: { vmiName: string };
  status?: {
    phase?: string;
    phaseTransitionTimestamps?: { phase?: string; phaseTransitionTimestamp?: string }[];
    migrationState?: { failureReason?: string };
  };
}

/** Returns null for a migration that is not as drover makes them. */
export function migrationView({ metadata, status }: Stored<VirtualMachineInstanceMigration>): MigrationView | null {
  const { labels = {}, name, resourceVersion } = metadata;
  const vmiUid = labels[EVACUATION_LABEL];
  const pool = labels[POOL_LABEL];
  const attempt = vmiUid === undefined ? null : attemptOf(vmiUid, name);
  if (vmiUid === undefined || pool === undefined || attempt === null) return null;
  const state = status?.phase === 'Succeeded' || status?.phase === 'Failed' ? status.phase : 'Unfinished';
  const endedAt = Date.parse(
    status?.phaseTransitionTimestamps?.findLast(({ phase }) => phase === state)?.phaseTransitionTimestamp ?? '',
  );
  return {
    namespace: metadata.namespace!,
    name,
    resourceVersion,
    pool: intern(pool),
    vmiUid,
    attempt,
    state,
    createdAt: Date.parse(metadata.creationTimestamp),
    endedAt: Number.isNaN(endedAt) ? null : endedAt,
    whyFailed: (state === 'Failed' && status?.migrationState?.failureReason) || null,
  };
}
