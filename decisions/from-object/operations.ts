import type { Condition } from '../../api/objects.ts';
import { timeOf } from '../lib/time.ts';
import { NO_OPERATIONS, type Operation, type OperationKind } from '../views/operation.ts';
import { internOrNull } from './intern.ts';

/** The fields of a VirtualMachine's status about operations on it. */
export interface VmOperationFields {
  conditions?: Condition[];
  snapshotInProgress?: string;
  restoreInProgress?: string;
  memoryDumpRequest?: { phase?: string; startTimestamp?: string | null };
  volumeRequests?: { addVolumeOptions?: { name?: string }; removeVolumeOptions?: { name?: string } }[];
}

/** The fields of a VirtualMachineInstance's status about operations on it. */
export interface VmiOperationFields {
  conditions?: Condition[];
  changedBlockTracking?: {
    backupStatus?: { backupName?: string; completed?: boolean; startTimestamp?: string | null } | null;
  };
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
    ofCondition(conditions, 'ManualRecoveryRequired', 'ManualRecovery'),
    ofCondition(conditions, 'VolumesChange', 'VolumeMigration'),
    DUMPING.includes(memoryDumpRequest?.phase) ? of('MemoryDump', undefined, memoryDumpRequest?.startTimestamp) : null,
    volumeRequests?.[0] === undefined ? null : of('Hotplug', nameOf(volumeRequests[0])),
  ]);
}

export function vmiOperations(status: VmiOperationFields = {}): readonly Operation[] {
  const { conditions, changedBlockTracking, fsFreezeStatus, migratedVolumes, volumeStatus } = status;
  const { backupName, completed, startTimestamp } = changedBlockTracking?.backupStatus ?? {};
  const isCalledOff = conditions?.some(({ type, status: is }) => type === 'VolumesChange' && is === 'False') ?? false;
  const areMoved = (migratedVolumes?.length ?? 0) > 0 && !isCalledOff ? of('VolumeMigration') : null;
  const plugged = volumeStatus?.find((one) => one.hotplugVolume !== undefined && PLUGGING.includes(one.phase));
  return found([
    // As KubeVirt's migration controller judges it.
    backupName && completed !== true ? of('Backup', backupName, startTimestamp) : null,
    ofCondition(conditions, 'VolumesChange', 'VolumeMigration') ?? areMoved,
    fsFreezeStatus === 'frozen' ? of('Freeze') : null,
    plugged === undefined ? null : of('Hotplug', plugged.name),
  ]);
}

function of(kind: OperationKind, object?: string, begunAt?: string | null): Operation {
  const since = timeOf(begunAt);
  return { kind, object: internOrNull(object), ...(since === null ? {} : { since }) };
}

type VolumeRequest = NonNullable<VmOperationFields['volumeRequests']>[number];

const nameOf = ({ addVolumeOptions, removeVolumeOptions }: VolumeRequest): string | undefined =>
  (addVolumeOptions ?? removeVolumeOptions)?.name;

function found(all: (Operation | null)[]): readonly Operation[] {
  const operations = all.filter((one) => one !== null);
  return operations.length === 0 ? NO_OPERATIONS : operations;
}

function ofCondition(conditions: Condition[] = [], type: string, kind: OperationKind): Operation | null {
  const found = conditions.find((condition) => condition.type === type && condition.status === 'True');
  return found === undefined ? null : of(kind, undefined, found.lastTransitionTime);
}
