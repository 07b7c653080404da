import type { EvacuationTarget } from '../drain/plan.ts';
import type { RunNote } from '../healing/plan.ts';
import type { PlannedBatch } from '../rollout/next-batch.ts';
import type { RemovalCause, Member } from '../scaling/removal-check.ts';
import type { MemberRole } from '../views/vm.ts';

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

/** What to do next, each step with a reason for people to read. */
export type PoolStep =
  | { kind: 'addFinalizer'; reason: string }
  | { kind: 'removeFinalizer'; reason: string }
  /** The spec leaves out how many VMs there are to be; `replicas`: as many as there were to be before. */
  | { kind: 'keepReplicas'; replicas: number; reason: string }
  /** `role`: of VMs that are to be none of the pool's replicas. */
  | { kind: 'create'; numbers: number[]; revision: string; role?: MemberRole; reason: string }
  /** VMs that have come back from a backup without their owner. */
  | { kind: 'adopt'; vms: Target[]; role?: 'Standby'; reason: string }
  /** Notes on the pool or set which UID it has: after a restore, it goes on. */
  | { kind: 'noteUid'; reason: string }
  /** Standby VMs that become replicas. */
  | { kind: 'promoteStandby'; vms: Target[]; reason: string }
  /** Standby VMs that are not in the state that the pool wants them in. */
  | { kind: 'setStandbyState'; act: SettleAct; vms: Target[]; reason: string }
  | { kind: 'delete'; vms: Target[]; keepDisks: boolean; because: RemovalCause['because']; reason: string }
  | { kind: 'halt'; vms: Target[]; because: RemovalCause['because']; reason: string }
  /** `unmatched`: their labels no longer match the selector; otherwise, their owner is deleted without them. */
  | { kind: 'release'; vms: Target[]; because?: 'Unmatched'; reason: string }
  | ({ kind: 'update' } & PlannedBatch)
  /** VMs to move off nodes that are drained. */
  | { kind: 'evacuate'; vms: EvacuationTarget[]; reason: string }
  /** How many pods of the pool's VMs stay up at evictions; null: no PodDisruptionBudget says so. */
  | { kind: 'updatePodDisruptionBudget'; minAvailable: number | null; reason: string }
  /** The template is kept as a ControllerRevision, in case it changes. */
  | { kind: 'createRevision'; reason: string }
  /** VMs on which something is noted: that they have run well, or which failed starts are known. */
  | { kind: 'annotateRuns'; vms: RunNote[]; reason: string }
  /** VMs that people wanted removed by name, and that the pool has no more. */
  | { kind: 'clearNamedRemovals'; vms: Member[]; reason: string }
  /** VMs that get the pool's labels, for it owns them; or lose them, for nobody controls the VMs any more. */
  | { kind: 'addLabels' | 'removeLabels'; vms: Target[]; reason: string }
  /** VMs whose role label is to follow the pool's record, which is brought up to date before. */
  | { kind: 'setRoles'; vms: Target[]; reason: string }
  /** VMs that nobody controls any more, and whose deletion waits until their disks are kept. */
  | { kind: 'removeDiskFinalizers'; vms: Target[]; reason: string }
  /** The members of the pool no longer change: the command that was to change them is gone. `mark`: its annotation. */
  | { kind: 'endMembershipChange'; mark: string; reason: string }
  /** Kept disks that won't be reused. `vm`: the VM that they wait for; `role`: what it will be. */
  | { kind: 'deleteKeptDisks'; claims: { name: string; uid: string; vm: string }[]; role?: MemberRole; reason: string }
  /** Claims that are no longer kept disks. */
  | { kind: 'unmarkKeptDisks'; claims: { name: string; uid: string; resourceVersion: string }[]; reason: string }
  /** Names of ControllerRevisions. */
  | { kind: 'deleteRevisions'; revisions: string[]; reason: string };
