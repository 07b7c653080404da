import { ROLE_LABEL } from '../../api/labels-and-annotations.ts';
import type { VmOwnerKind } from '../../api/owner-kinds.ts';
import type { Identity } from '../../api/owner-references.ts';
import type { StandbyState } from '../../api/pool/pool.ts';
import type { PowerRecord } from './annotations/power-record.ts';
import type { Protections } from './annotations/protection.ts';
import type { RecordedChange } from './annotations/recorded-change.ts';
import type { TransitionRecord } from './annotations/transition-record.ts';
import type { Operation } from './operation.ts';

/**
 * The role of a pool member that is not a replica: ready to become one (`Standby`), or a temporary addition during an
 * update (`Surge`).
 */
export type MemberRole = 'Standby' | 'Surge';

/** What drover caches of a VirtualMachine: all that its decisions read, and nothing else. */
export interface VmView extends Protections {
  namespace: string;
  name: string;
  uid: string;
  resourceVersion: string;
  /** The controller among its owner references; null for a VM without a controller. */
  owner: { kind: string; name: string; uid: string } | null;
  /** What it is in its pool, by the pool's record; null for one of its replicas, and for a VM that is in no pool. */
  role: MemberRole | null;
  /**
   * What its label says, which every client that may change the VM can write. drover makes the label follow the record.
   */
  roleLabel: MemberRole | null;
  /** The state that drover has brought a standby VM to; null for other VMs, and if drover has not. */
  standby: StandbyState | null;
  /** Milliseconds since the epoch. */
  createdAt: number;
  /** Has a deletion timestamp: the VM is terminating, and its name stays taken until it is deleted. */
  deleting: boolean;
  /** Marked by drover as leaving the pool with its disks kept. */
  removing: boolean;
  /**
   * Since when it is terminating, or was halted to leave with its disks kept, in milliseconds since the epoch; null if
   * neither, or if that is unknown.
   */
  leavingSince: number | null;
  /** While it is being deleted: the finalizers of others that it has, in one text; null without. */
  blockedBy: string | null;
  /** Has drover's finalizer until it no longer owns its disks; it may already be terminating. */
  keepsDisks: boolean;
  /** Its own labels merged over those of its VMI template. */
  labels: Record<string, string>;
  /** Its own labels alone. */
  ownLabels: Record<string, string>;
  /** Annotations of a VM of a pool, as `annotationsView` makes them. */
  annotations: Record<string, string>;
  /**
   * Of a VM of a pool: its spec, which shares all equal parts with those of other VMs. Null for any other VM, and if it
   * is nested too deep to be compared.
   */
  spec: Readonly<Record<string, unknown>> | null;
  /** Names of the claims that its disk templates and volumes refer to. */
  disks: readonly string[];
  /**
   * Hash of the pool template that its spec is of: by the label of its VMI template, which a restore puts back along
   * with the spec; without it, by its own label; or, if its owner reference was put back by hand, by what it was before
   * it left the pool; otherwise null.
   */
  revision: string | null;
  runStrategy: string;
  /** KubeVirt's `status.runStrategy`: the one that it last went by; null until the VM has had a VMI. */
  lastRunStrategy: string | null;
  /** Machine type in its VMI template. KubeVirt fills in a missing type, so null only if nothing did. */
  machineType: string | null;
  /** The labels that its nodes must have, as its spec says. */
  nodeSelector: Readonly<Record<string, string>>;
  architecture: string | null;
  /**
   * `kind/name` or `kind/namespace/name` of its preference; after an `@`, the state of the preference that the VM
   * keeps.
   */
  preference: string | null;
  /** Record of the last machine type transition that changed the VM; null without. */
  transition: TransitionRecord | null;
  /**
   * Id of the machine type transition for which it waits to be restarted, or was restarted without being known to run
   * well yet.
   */
  transitionLabel: string | null;
  /** What the run has noted that has last started, stopped or restarted it; null without. */
  power: PowerRecord | null;
  /** What operations have changed of it, the newest first: the last few. */
  changes: readonly RecordedChange[];
  /** KubeVirt's `status.created`: the VM has a VMI. */
  hasVmi: boolean;
  ready: boolean;
  /** KubeVirt's `status.printableStatus`. */
  state: string;
  /** Why KubeVirt could not make its VMI, or another object for it (condition Failure); null if nothing says so. */
  failure: string | null;
  /** KubeVirt's `status.startFailure.consecutiveFailCount`. */
  startFailures: number;
  /** KubeVirt's `status.startFailure.lastFailedVMIUID`. */
  lastFailedVmi: string | null;
  /**
   * Since when KubeVirt reports it not ready, in milliseconds since the epoch; null if it is ready, or KubeVirt doesn't
   * say.
   */
  notReadySince: number | null;
  /**
   * drover's annotation of a VM that has not run well yet (`NOT_YET_RUN_ANNOTATION`): empty, or the UID of a VMI; null
   * without.
   */
  notYetRun: string | null;
  /** A user has ordered by annotation that its drift is corrected. */
  correctionRequested: boolean;
  /** Users have put it into its pool, which has not made it. */
  joined: boolean;
  /** UID of the pool that its record says it is of (`MemberOf`); null without a record. */
  memberOf: string | null;
  /** It is younger than its record: it was made again from a copy, as by a restore. */
  madeAgain: boolean;
  /**
   * KubeVirt's RestartRequired condition: since when (milliseconds since the epoch, null if it doesn't say), and why.
   */
  restartRequired: { since: number | null; message: string } | null;
  /** It was asked to start, stop or restart, and KubeVirt has not done so yet. */
  changingState: boolean;
  /**
   * KubeVirt has observed its current spec, so a VMI started from now on is of that spec. Also true if KubeVirt
   * doesn't say.
   */
  generationObserved: boolean;
  /** The generation of its spec. */
  generation: number;
  /** KubeVirt's operations on it by its status, without those that the cluster no longer knows. */
  operations: readonly Operation[];
}

/** Reports whether this pool or set controls the VM. */
export const isOwnedBy = (
  vm: Pick<VmView, 'namespace' | 'owner'>,
  kind: VmOwnerKind,
  { namespace, uid }: Identity,
): boolean => vm.namespace === namespace && vm.owner?.kind === kind && vm.owner.uid === uid;

/** One of its pool's replicas: what is compared with the number that a pool wants are VMs of this type. */
export type RegularVm = VmView & { role: null };

export const isRegular = (vm: VmView): vm is RegularVm => vm.role === null;

/** A VM that its pool has beyond its replicas while it updates them. */
export type SurgeVm = VmView & { role: 'Surge' };

export const isSurge = (vm: VmView): vm is SurgeVm => vm.role === 'Surge';

/** Returns the role that labels tell. A value that drover doesn't know makes no difference to a VM. */
export function roleOf(labels: Readonly<Record<string, string>> | undefined): MemberRole | null {
  const role = labels?.[ROLE_LABEL];
  return role === 'Standby' || role === 'Surge' ? role : null;
}

/** KubeVirt's states of a VM that cannot run, whatever happens in the cluster around it. */
const FAILING_STATES = new Set(['CrashLoopBackOff', 'ErrorPvcNotFound', 'DataVolumeError']);
/** States of a VM that can't run now, but may again on its own, once a node, capacity or a registry is back. */
const PASSING_STATES = new Set(['ErrorUnschedulable', 'ErrImagePull', 'ImagePullBackOff', 'Unknown']);

/** True for a VM whose starts fail, or whose disks are not available. */
export const isFailing = (vm: VmView): boolean => vm.startFailures > 0 || FAILING_STATES.has(vm.state);

export const isBroken = (vm: VmView): boolean => isFailing(vm) || PASSING_STATES.has(vm.state);

/** True for a VM that was not asked to run: stopping or deleting it disturbs no VMI. */
export const isHalted = (vm: VmView): boolean =>
  !vm.hasVmi && (vm.runStrategy === 'Halted' || vm.runStrategy === 'Manual');

export type StandbyVm = VmView & { role: 'Standby' };

export const isStandby = (vm: VmView): vm is StandbyVm => vm.role === 'Standby';
