/** What KubeVirt, or another tool, does to a VM, and a restart would spoil. */
export interface Operation {
  kind:
    | 'Snapshot'
    | 'Restore'
    | 'Backup'
    | 'MemoryDump'
    /** Its file systems are frozen for a consistent copy of its disks. */
    | 'Freeze'
    /** Its volumes are being moved to other claims. */
    | 'VolumeMigration'
    /** That has failed, and left it with volumes that were never filled. */
    | 'ManualRecovery'
    /** Disks are being plugged in or out. */
    | 'Hotplug';
  /** Name of the object that asks for it, in the VM's namespace, or of what it is about; null if there is none. */
  object: string | null;
  /** Since when it lasts, or was first seen, in milliseconds since the epoch; absent if that is not known. */
  since?: number;
  /** It has lasted longer than its kind usually does, and may never end. */
  isOverdue?: true;
}

export type OperationKind = Operation['kind'];

/** Why KubeVirt reports a VMI as paused, in its words. */
export interface Pause {
  reason: string;
  message: string;
}

/** Shared by all views without any. */
export const NO_OPERATIONS: readonly Operation[] = [];
