/**
 * What an update does to one VM: write its spec alone, also apply it to the running guest, restart the guest, or
 * replace the VM and its disks.
 */
export type UpdateAct = 'write' | 'live' | 'restart' | 'replace';

/** One VM in the hand of a batch. */
export interface BatchVm {
  name: string;
  /** Of the VM that was meant: another of its name is left alone. */
  uid: string;
  act: UpdateAct;
  /** Revision that its spec had when it was taken; null where that was not known. */
  from: string | null;
  /** It should have run and was not ready already: what becomes of it says nothing of the new revision. */
  wasDown: boolean;
  /**
   * Its guest ran, or came up, when it was taken to be written: one that does so only by now has to be looked at anew.
   */
  runs?: true;
  /** Its owner has stopped it: the VM that takes its place stays so. */
  halted?: true;
}

/** VMs that are brought to one revision together. */
export interface Batch {
  /** Counts the batches of a pool, from 1. */
  n: number;
  revision: string;
  /** The revision that is rolled out, of which this is a part: another than its own in an undo. */
  rollout: string;
  vms: BatchVm[];
  /** Milliseconds since the epoch. */
  startedAt: number;
  /** Another revision has taken the place of its own: it waits for nothing more. */
  superseded?: boolean;
}

/** How it ended for one VM. */
export interface UpdateOutcome {
  vm: string;
  end:
    | 'Updated'
    /** Not ready in time, or the API server would not have its new spec. */
    | 'Failed'
    /** Not begun: there was no room in the budget any more, or the rollout was stopped. */
    | 'Deferred'
    /** KubeVirt would not apply it to the running guest: it needs a restart. */
    | 'RestartRequired'
    /** It left the pool, or was deleted. */
    | 'Gone'
    /** Begun, and not waited for: a newer revision takes its place. */
    | 'Superseded';
  why?: string;
}
