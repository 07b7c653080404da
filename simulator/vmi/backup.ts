import type { Stored } from '../../api/objects.ts';
import { SimulatorAnnotation } from '../objects/annotations.ts';
import { timestamp, withCondition, withoutCondition } from '../objects/conditions.ts';
import type { Migration, VirtualMachineInstance, Vmi } from '../objects/kubevirt.ts';

/** Begins the backup that the VMI's annotation names; completes it if that is empty. */
export function withBackup(vmi: Vmi, now: number): Vmi {
  const wanted = vmi.metadata.annotations?.[SimulatorAnnotation.backup];
  const { changedBlockTracking: tracking } = vmi.status ?? {};
  const status = tracking?.backupStatus;
  const put = (backupStatus: Record<string, unknown>): Vmi => ({
    ...vmi,
    status: { ...vmi.status, changedBlockTracking: { state: 'Enabled', ...tracking, backupStatus } },
  });
  if (wanted === '') return isBackedUp(vmi) ? put({ ...status, endTimestamp: timestamp(now), completed: true }) : vmi;
  const isNew = wanted !== undefined && wanted !== status?.backupName;
  return isNew ? put({ backupName: wanted, startTimestamp: timestamp(now) }) : vmi;
}

/**
 * As KubeVirt judges it: from then on no migration of the VMI begins, except a migration that is critical for the
 * system.
 */
export const isBackedUp = ({ status }: VirtualMachineInstance): boolean => {
  const { backupName = '', completed = false } = status?.changedBlockTracking?.backupStatus ?? {};
  return backupName !== '' && !completed;
};

const BLOCKED = 'migrationBlockedByBackup';

/** Returns the migration, which tells whether a backup holds it; the same object if nothing changes. */
export function blockedByBackup(migration: Stored<Migration>, vmi: Vmi, now: number): Stored<Migration> {
  const conditions = migration.status?.conditions ?? [];
  const isBlocked = conditions.some(({ type }) => type === BLOCKED);
  if (isBlocked === isBackedUp(vmi)) return migration;
  const message = `Waiting for backup ${vmi.status?.changedBlockTracking?.backupStatus?.backupName} to complete`;
  const next = isBlocked
    ? withoutCondition(conditions, BLOCKED)
    : withCondition(conditions, {
        type: BLOCKED,
        status: 'True',
        reason: 'BackupInProgress',
        message,
        lastProbeTime: null,
        lastTransitionTime: timestamp(now),
      });
  return { ...migration, status: { ...migration.status, conditions: next } };
}
