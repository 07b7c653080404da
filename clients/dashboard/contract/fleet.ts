import type { NoticeType } from '../../../decisions/notices/notices.ts';
import type { VmState } from '../../view/vm-wait.ts';

export type { VmState };

/**
 * What the page shows. The server makes these from Kubernetes objects, the browser only reads them: types alone,
 * without an import of any code, so that both sides can take them. Times are RFC 3339.
 */

/** Something that a user may ask for, as the buttons name it. */
export type ActionName =
  | 'rollout.pause'
  | 'rollout.resume'
  | 'rollout.promote'
  | 'rollout.abort'
  | 'rollout.undo'
  | 'heal.pause'
  | 'heal.resume'
  | 'heal.now'
  | 'heal.skip'
  | 'operation.pause'
  | 'operation.resume'
  | 'operation.abort'
  | 'schedule.suspend'
  | 'schedule.resume'
  | 'drain.start'
  | 'drain.cancel';

/** Whether a button works, and if not why: a sentence for its tooltip and for screen readers. */
export interface Action {
  name: ActionName;
  whyNot: string | null;
  /** The user must type the name of the object, and the server checks it. */
  isTyped: boolean;
}

/** An object by its kind as Kubernetes names it; without a namespace if it is cluster-wide. */
export interface ObjectRef {
  kind: string;
  namespace: string | null;
  name: string;
}

/**
 * One VM, or VMI of a set of VMIs, as a square: its name, its state, and the index of its revision in
 * `OwnerCard.revisions`, -1 if it has none of these. The fourth is `1` for an extra VM of an update and `2` for a
 * standby VM, which stand beside the replicas.
 */
export type VmCell = readonly [name: string, state: VmState, revision: number, role?: 1 | 2];

export interface Revision {
  hash: string;
  /** Null while it has not been looked up. */
  number: number | null;
  /** The template's own; the one that all VMs had before; or one that only VMs have, such as one that was undone. */
  is: 'new' | 'old' | 'other';
}

/** A step of a rollout. */
export interface Step {
  /** Such as `3` or `25%` of the VMs. */
  to: string;
  /** What it waits for once it is reached: `approval`, `10m`, `check`. */
  then: string;
  state: 'passed' | 'reached' | 'ahead';
}

/** A place in a pool's disruption budget that is taken. */
export interface BudgetUse {
  vm: string;
  /** What for, such as `a rollout`, `an operation restart-x7k2p`, or `it is down`. */
  what: string;
  /** Since when; null if unknown. */
  since: string | null;
  /** When the place is given back if nobody acts on it; null: once the VM is back. */
  until: string | null;
}

export interface Budget {
  /** As the spec has it, such as `25%`. */
  maxUnavailable: string;
  /** How many VMs that is now. */
  limit: number;
  /** VMs that take places, the first 50. */
  uses: BudgetUse[];
  /** How many take places, also beyond those listed. */
  useCount: number;
}

export interface Windows {
  isOpen: boolean;
  /** When it closes or opens next; null: never. */
  until: string | null;
  /** As the spec has them, such as `0 2 * * * for 4h (Europe/Zurich)`. */
  texts: string[];
}

export interface Rollout {
  /** Reason of the condition `Progressing`, such as `RollingOut`, `WaitingForApproval`, `Complete`. */
  phase: string;
  end: 'Complete' | 'Failed' | 'Blocked' | 'OutdatedVms' | null;
  tone: 'good' | 'bad' | 'warn' | 'busy';
  /** What happens or is waited for; empty if there is nothing to say. */
  sentence: string;
  /** When it continues by itself; null: not before a user acts, or something else changes. */
  until: string | null;
  requestedBy: string | null;
  reason: string | null;
  updated: number;
  replicas: number;
  steps: Step[];
  paused: { by: string; at: string | null; reason: string | null } | null;
  halted: { kind: string; by: string; at: string; reason: string | null } | null;
  /** The newest last; without a message if the sentence has it. */
  failures: { vm: string; message: string; at: string }[];
}

export interface Healing {
  paused: { by: string; at: string; reason: string | null } | null;
  suspended: string | null;
  cycles: { vm: string; attempt: number; message: string; nextAt: string | null }[];
  /** VMs that drover no longer tries to replace. */
  givenUp: { vm: string; message: string; at: string }[];
}

/** A pool or replica set, or the VMs of a namespace that drover has in none (`kind` is null). */
export interface OwnerCard {
  /** `pool/NAMESPACE/NAME`, `vmrs/NAMESPACE/NAME`, `vmirs/NAMESPACE/NAME` or `none/NAMESPACE`. */
  id: string;
  kind: 'VirtualMachinePool' | 'VirtualMachineReplicaSet' | 'VirtualMachineInstanceReplicaSet' | null;
  namespace: string;
  /** Empty for VMs of no owner. */
  name: string;
  isDeleting: boolean;
  /** VMs that are wanted, that exist, and that are ready; all without extra and standby VMs. */
  desired: number;
  current: number;
  ready: number;
  /** How many of the existing VMs are stopped as their owner wants it. */
  stopped: number;
  /** Standby VMs that are wanted. */
  standbyWanted: number;
  /** VMs by state: the numbers of a proportional bar. */
  counts: Partial<Record<VmState, number>>;
  /** The target first, then the one before, then others that VMs have. One alone: no rollout runs. */
  revisions: Revision[];
  rollout: Rollout | null;
  healing: Healing | null;
  budget: Budget | null;
  windows: Windows | null;
  /** Conditions worth showing, the worst first. */
  conditions: { type: string; reason: string; message: string; tone: 'bad' | 'warn' | 'busy' }[];
  /** The tool that owns the object: what is changed here, it may change back; null without. */
  gitOps: { tool: 'Argo CD' | 'Flux'; name: string } | null;
  actions: Action[];
  createdAt: string;
}

export type NeedKind =
  | NoticeType
  | 'paused'
  | 'operation-paused'
  | 'schedule-failed'
  | 'vms-failing'
  | 'late'
  | 'no-worker';

/** Something that continues only if a person acts, or that lasts longer than it should. */
export interface Need {
  id: string;
  kind: NeedKind;
  /** `bad` before `warn`, and the oldest first within each. */
  tone: 'bad' | 'warn';
  /** For example `the rollout of web waits for approval at step 1 of 3`. */
  sentence: string;
  /** How many VMs are done, such as `3/10 restarted, 1 in progress, 6 to go`; empty if nothing counts them. */
  done: string;
  since: string | null;
  about: ObjectRef;
  /** The VM that it is about, if it is one. */
  vm: string | null;
  /** The command that answers, as it can be typed. */
  command: string;
  /** The button that answers, if there is one. */
  action: Action | null;
}

/** VMs that wait, or are left alone, for one reason. */
export interface Skip {
  message: string;
  /** Null if a limit is reached, of which no number is known. */
  count: number | null;
  /** The first of them. */
  names: string[];
  isExcluded: boolean;
}

export interface OperationCard {
  /** `vmop/NAMESPACE/NAME` or `cvmop/NAME`. */
  id: string;
  namespace: string | null;
  name: string;
  /** `Restart`, `Start`, `Stop`, `Migrate`, `Patch`, `MachineType`. */
  action: string;
  /** From which machine type to which; null for other actions. */
  transition: { from: string; to: string; restartedBy: string } | null;
  state: string;
  tone: 'good' | 'bad' | 'warn' | 'busy';
  sentence: string;
  isOver: boolean;
  isPaused: boolean;
  /** How far it is, as `drover operations describe` counts: `3/10 restarted, 1 in progress`; empty if not known. */
  numbers: string;
  chosen: number;
  done: number;
  failed: number;
  inProgress: number;
  open: number;
  excluded: number;
  requestedBy: string;
  reason: string | null;
  createdAt: string;
  endedAt: string | null;
  windows: Windows | null;
  skips: Skip[];
  failures: { vm: string; message: string }[];
  actions: Action[];
}

export interface ScheduleCard {
  /** `vmops/NAMESPACE/NAME`. */
  id: string;
  namespace: string;
  name: string;
  action: string;
  schedule: string;
  timeZone: string;
  state: string;
  tone: 'good' | 'bad' | 'warn' | 'busy';
  sentence: string;
  requestedBy: string;
  reason: string | null;
  nextAt: string | null;
  lastAt: string | null;
  lastOutcome: string | null;
  /** Names of its operations that run. */
  active: string[];
  lastMissed: { at: string; message: string } | null;
  actions: Action[];
}

/** A disruption budget over VMs of any owner. */
export interface BudgetCard {
  /** `vmdb/NAMESPACE/NAME`, or `vmdb/NAME` of a cluster-wide one. */
  id: string;
  namespace: string | null;
  name: string;
  state: string;
  tone: 'good' | 'bad' | 'warn' | 'busy';
  /** How many VMs are available, and how many more may go down. */
  numbers: string;
  /** Its limits, what takes its room, and what waits, as `drover budgets` tells it. */
  lines: string[];
  fullSince: string | null;
}

/** A node with VMs, or that VMs are to leave. What each waits for: `GET /api/nodes/NAME`. */
export interface DrainCard {
  /** `node/NAME`. */
  id: string;
  node: string;
  /** Cordoned, or tainted as for a drain; false if the user may not see nodes. */
  isDrained: boolean;
  /** VMIs on it that the user may see. */
  remaining: number;
  migrating: number;
  /** VMIs that were asked to leave. */
  toEvacuate: number;
  actions: Action[];
}
