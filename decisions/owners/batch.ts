import type { MemberRole } from '../views/vm.ts';

/**
 * What an update does to one VM: only write its spec, also apply it to the running VMI, migrate the VMI for its pod's
 * sake, restart the VMI, or replace the VM and its disks.
 */
export type UpdateAct = 'write' | 'live' | 'migrate' | 'restart' | 'replace';

export interface BatchVm {
  name: string;
  /** UID of the VM that was meant: a later one of its name is left alone. */
  uid: string;
  act: UpdateAct;
  /** Revision of its spec when it was taken; null if unknown. */
  from: string | null;
  /** The VM should have run but was not ready as it was planned. */
  wasDown: boolean;
  /** The VM ran or started when it was taken for `write`. A VM that has started only since must be checked again. */
  runs?: true;
  /**
   * UID of a VMI of the right revision that is to restart all the same: what it has read as it started has changed, or
   * its pod lacks something.
   */
  vmi?: string;
  /** With `migrate`: which migration by drover is to give which VMI a new pod. A VMI is migrated once by a batch. */
  migration?: { vmi: string; attempt: number };
  /** The VM's drift is corrected as well. */
  setsRight?: true;
  /** What the VM is for, if it is none of the pool's replicas: so is its replacement. */
  role?: MemberRole;
  /** Its owner has stopped the VM: its replacement stays stopped. */
  halted?: true;
}

/** VMs that are brought to one revision together. */
export interface Batch {
  /** The batch's number within its pool, from 1. */
  n: number;
  revision: string;
  /** The revision being rolled out, to which this batch belongs: differs from `revision` in an undo. */
  rollout: string;
  vms: BatchVm[];
  /** Milliseconds since the epoch. */
  startedAt: number;
  /** When it last said what has become of its VMs, in milliseconds since the epoch; absent before the first time. */
  heardAt?: number;
  /** Another revision has replaced the batch's: it waits for nothing more. */
  superseded?: boolean;
  /** Its workflow was ended from outside: it says nothing more. */
  endedOutside?: boolean;
}

/** A batch as a plan is asked with it. Without its VMs, they were told before, with an earlier plan of the same run. */
export type BatchInput = Omit<Batch, 'vms'> & Partial<Pick<Batch, 'vms'>>;

/** How the update ended for one VM. */
export interface UpdateOutcome {
  vm: string;
  end:
    | 'Updated'
    /** Not ready in time, or the API server refused its new spec. */
    | 'Failed'
    /** Could not be taken now: something stood in the way. */
    | 'Deferred'
    /** Not started before the rollout was stopped. */
    | 'NotBegun'
    /** KubeVirt refused to apply the spec to the running VMI: it needs a restart. */
    | 'RestartRequired'
    /** The VM left the pool or was deleted. */
    | 'Gone'
    /** Not begun, or not awaited: a newer revision replaces it. */
    | 'Superseded';
  message?: string;
  /** Deferred for a reason that concerns this VM alone: others continue. */
  isOwn?: boolean;
  /** The VM should have run but was not ready when its turn came: a failure says nothing about the new revision. */
  wasDown?: boolean;
}

export interface PlannedBatch {
  batch: Omit<Batch, 'startedAt'>;
  /** Who asked for it; null if unknown. */
  requestedBy: string | null;
  minReadyMs: number;
  /** How long each of its VMs may take to become ready. */
  deadlineMs: number;
  /** How many of its VMs may fail before it takes no more; null: any number. */
  mayFail: number | null;
  reason: string;
}
