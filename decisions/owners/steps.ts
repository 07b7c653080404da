import { formatNames } from '../lib/names.ts';
import type { MemberRole, VmView } from '../views/vm.ts';
import type { PlannedBatch } from './batch.ts';

/**
 * A VM that a step acts on. The UID protects a later VM of the same name; the resource version, a VM that has changed
 * since.
 */
export interface Target {
  name: string;
  uid: string;
  resourceVersion: string;
}

/** What brings a standby VM to its state: `start` and `stop` only if its pool wants another state than before. */
export type SettleAct = 'pause' | 'start' | 'stop';

/** VMs to create; another part of the plan decides their revision. */
export interface Creation {
  kind: 'create';
  numbers: number[];
  /** Absent for replicas of the pool. */
  role?: MemberRole;
  /** How many of this role the pool is to have with them, if those are more than its spec wants. */
  most?: number;
  reason: string;
}

/** What to do next, each step with a reason for users to read. */
export type PoolStep =
  | { kind: 'addFinalizer'; reason: string }
  | { kind: 'removeFinalizer'; reason: string }
  /** The spec leaves out how many VMs there are to be; `replicas`: as many as there were to be before. */
  | { kind: 'keepReplicas'; replicas: number; reason: string }
  | (Creation & { revision: string })
  /** VMs that have come back from a backup without their owner. */
  | { kind: 'adopt'; vms: Target[]; role?: 'Standby'; reason: string }
  /** VMs that users want in the pool, by name. */
  | { kind: 'adoptNamed'; vms: Member[]; reason: string }
  /** Notes on the pool or set which UID it has: after a restore, it continues. */
  | { kind: 'recordUid'; reason: string }
  /** Standby VMs that become replicas. */
  | { kind: 'promoteStandby'; vms: Target[]; reason: string }
  /** Standby VMs that are not in the state that the pool wants them in. */
  | { kind: 'setStandbyState'; act: SettleAct; vms: Target[]; reason: string }
  | { kind: 'delete'; vms: Target[]; keepDisks: boolean; because: RemovalCause['because']; reason: string }
  | { kind: 'halt'; vms: Target[]; because: RemovalCause['because']; reason: string }
  /** Otherwise, their owner is deleted without them. */
  | { kind: 'release'; vms: Target[]; because?: ReleaseCause; reason: string }
  | ({ kind: 'update' } & PlannedBatch)
  /** VMs to move off nodes that are drained. */
  | { kind: 'evacuate'; vms: EvacuationTarget[]; reason: string }
  /** The template is kept as a ControllerRevision, in case it changes. */
  | { kind: 'createRevision'; reason: string }
  /** VMs on which something is noted: that they have run well, or which failed starts are known. */
  | { kind: 'annotateRuns'; vms: RunRecord[]; reason: string }
  /** VMs that users wanted removed by name, and that the pool has no more. */
  | { kind: 'clearNamedRemovals'; vms: Member[]; reason: string }
  /**
   * VMs that get the pool's labels, because it owns them; or lose them, because the VMs no longer have a controller.
   */
  | { kind: 'addLabels' | 'removeLabels'; vms: Target[]; reason: string }
  /** VMs whose role label is to follow the pool's record, which is brought up to date before. */
  | { kind: 'setRoles'; vms: Target[]; reason: string }
  /** VMs that no longer have a controller, and whose deletion waits until their disks are kept. */
  | { kind: 'removeDiskFinalizers'; vms: Target[]; reason: string }
  /** A user wants the VMs of a KubeVirt pool in the pool, or the pool's own in a KubeVirt pool. */
  | { kind: 'changeMembers'; reason: string }
  /** Kept disks that won't be reused. `vm`: the VM that they wait for; `role`: what it will be. */
  | { kind: 'deleteKeptDisks'; claims: { name: string; uid: string; vm: string }[]; role?: MemberRole; reason: string }
  /** Claims that are no longer kept disks. */
  | { kind: 'unlabelKeptDisks'; claims: { name: string; uid: string; resourceVersion: string }[]; reason: string }
  /** The check of the step that the rollout waits at is due. `at`: milliseconds since the epoch. */
  | { kind: 'lookAtCheck'; at: number; reason: string }
  /** Names of ControllerRevisions. */
  | { kind: 'deleteRevisions'; revisions: string[]; reason: string };

/** Why VMs leave an owner that stays: a set no longer selects them, or users have named them, to be kept. */
export type ReleaseCause = 'Unmatched' | 'Named';

/** A VM to be moved off its node. The UID is that of its VMI: another one runs elsewhere, or was asked for since. */
export interface EvacuationTarget {
  name: string;
  uid: string;
  node: string;
  act: EvacuationAct;
  message: string;
}

/**
 * A note to write on a VM. `start`: UID of the newest VMI, if no VMI of the VM has run up to and including it; null
 * once the VM has run well.
 */
export interface RunRecord {
  name: string;
  uid: string;
  /** The version in which the VM was seen to belong to the pool. */
  resourceVersion: string;
  start: string | null;
}

/** Why VMs leave their pool or set, and what the plan was based on. */
export type RemovalCause =
  /**
   * Their owner has more VMs than it wants; `at rest`: it removes only VMs that have no VMI and are not to have one.
   * `standby surplus`: it has more standby VMs than it wants. `generation`: of the planned spec; `others`: names of VMs
   * that other steps were removing at that time.
   */
  | { because: 'Surplus' | 'SurplusHalted' | 'StandbySurplus'; generation: number; others: readonly string[] }
  /** Users have asked for these VMs, by name, to be removed. */
  | { because: 'Named' }
  /** They were marked as leaving earlier. If the pool grows again, it replaces them. */
  | { because: 'Annotated' }
  /** Their owner is deleted: a pool, or a set. */
  | { because: 'OwnerDeleted' }
  /** They have run to their end, and others take their places. */
  | { because: 'Ended' }
  /** They are extra, and no rollout has a use for them. */
  | { because: 'Surge' }
  /** The VM is terminating, and held until its disks are released. */
  | { because: 'Terminating' };

/** An object of a namespace that is meant, and no later one of its name. */
export interface Member {
  name: string;
  uid: string;
}

/** A VM or a VMI that may leave its owner. */
export type Leaver = Pick<VmView, 'name' | 'uid' | 'resourceVersion' | 'deleting'> &
  Partial<Pick<VmView, 'removing' | 'keepsDisks'>>;

export const nameOf = (vm: Leaver): string => vm.name;

export const targets = (vms: readonly Leaver[]): Target[] =>
  vms.map(({ name, uid, resourceVersion }) => ({ name, uid, resourceVersion }));

export const vmNames = (vms: readonly Pick<Leaver, 'name'>[]): string => formatNames(vms.map((vm) => vm.name));

/** `cancel`: a migration that KubeVirt does not begin, so that others are not held up by it. */
export type EvacuationAct = 'migrate' | 'restart' | 'cancel';
