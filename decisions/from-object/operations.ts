import type { Condition } from '../../api/objects.ts';
import { NO_OPERATIONS, type Operation, type OperationKind } from '../views/operation.ts';
import { internOrNull } from './intern.ts';

/** The fields of a VirtualMachine's status that tell of operations on it. */
export interface VmOperationFields {
  conditions?: Condition[];
  snapshotInProgress?: string;
  restoreInProgress?: string;
  memoryDumpRequest?: { phase?: string };
  volumeRequests?: unknown[];
}

/** The fields of a VirtualMachineInstance's status that tell of operations on it. */
export interface VmiOperationFields {
  conditions?: Condition[];
  changedBlockTracking?: { backupStatus?: { backupName?: string; completed?: boolean } | null };
  fsFreezeStatus?: string;
  migratedVolumes?: unknown[];
  volumeStatus?: { name?: string; hotplugVolume?: object; phase?: string }[];
}

const DUMPING: readonly (string | undefined)[] = ['Associating', 'InProgress'];
const PLUGGING: readonly (string | undefined)[] = ['AttachedToNode', 'MountedToPod', 'UnMountedFromPod', 'Detaching'];

/**
 * `volumeUpdateState` counts for nothing: KubeVirt leaves it on a VM whose volumes have long been moved, and says by
 * the condition `VolumesChange` that they are being moved (virt-controller, `syncVolumeMigration`).
 */
export function vmOperations(status: VmOperationFields = {}): readonly Operation[] {
  const { conditions, snapshotInProgress, restoreInProgress, memoryDumpRequest, volumeRequests } = status;
  return found([
    snapshotInProgress ? of('Snapshot', snapshotInProgress) : null,
    restoreInProgress ? of('Restore', restoreInProgress) : null,
    isTrue(conditions, 'ManualRecoveryRequired') ? of('ManualRecovery') : null,
    isTrue(conditions, 'VolumesChange') ? of('VolumeMigration') : null,
    DUMPING.includes(memoryDumpRequest?.phase) ? of('MemoryDump') : null,
    (volumeRequests?.length ?? 0) > 0 ? of('Hotplug') : null,
  ]);
}

export function vmiOperations(status: VmiOperationFields = {}): readonly Operation[] {
  const { conditions, changedBlockTracking, fsFreezeStatus, migratedVolumes, volumeStatus } = status;
  const { backupName, completed } = changedBlockTracking?.backupStatus ?? {};
  const isCalledOff = conditions?.some(({ type, status: is }) => type === 'VolumesChange' && is === 'False') ?? false;
  const areMoved = isTrue(conditions, 'VolumesChange') || ((migratedVolumes?.length ?? 0) > 0 && !isCalledOff);
  const arePlugged = volumeStatus?.some((one) => one.hotplugVolume !== undefined && PLUGGING.includes(one.phase));
  return found([
    // As KubeVirt's migration controller judges it.
    backupName && completed !== true ? of('Backup', backupName) : null,
    areMoved ? of('VolumeMigration') : null,
    fsFreezeStatus === 'frozen' ? of('Freeze') : null,
    arePlugged === true ? of('Hotplug') : null,
  ]);
}

const of = (kind: OperationKind, object?: string): Operation => ({ kind, object: internOrNull(object) });

function found(all: (Operation | null)[]): readonly Operation[] {
  const operations = all.filter((one) => one !== null);
  return operations.length === 0 ? NO_OPERATIONS : operations;
}

const isTrue = (conditions: Condition[] | undefined, type: string): boolean =>
  conditions?.some((condition) => condition.type === type && condition.status === 'True') ?? false;
