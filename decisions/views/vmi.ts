import type { Evacuation } from './evacuation.ts';
import type { MigrationInFlight } from './migration.ts';
import type { Operation, Pause } from './operation.ts';
import type { VmView } from './vm.ts';

/** What drover caches of a VirtualMachineInstance: all that its decisions read, and nothing else. */
export interface VmiView {
  namespace: string;
  name: string;
  uid: string;
  resourceVersion: string;
  /** UID of the VM that controls it; null if no VM does. */
  vmUid: string | null;
  /** Milliseconds since the epoch. */
  createdAt: number;
  /** Has a deletion timestamp: its guest is shutting down. */
  deleting: boolean;
  /** Since when, in milliseconds since the epoch; null if it has none. */
  deletingSince: number | null;
  /** While it is being deleted: the finalizers of others that it has, in one text; null without. */
  blockedBy: string | null;
  /** How long its guest may take to shut down, in milliseconds. */
  graceMs: number;
  /** KubeVirt's `status.phase`; empty before it has one. */
  phase: string;
  /** Since when it has been in that phase, in milliseconds since the epoch; null if KubeVirt doesn't say. */
  phaseSince: number | null;
  ready: boolean;
  /** Since when it has been ready, or not ready, in milliseconds since the epoch; null if KubeVirt doesn't say. */
  readySince: number | null;
  /** When it was scheduled to its node with all that it needs, in milliseconds since the epoch; null if not yet. */
  scheduledAt: number | null;
  /** When it started to run, and when it ended, in milliseconds since the epoch; null if it has not. */
  runningSince: number | null;
  endedAt: number | null;
  /** How long its liveness probe may take to fail it, in milliseconds; null without a probe. */
  probationMs: number | null;
  /** The revision of the pool's template that the VMI runs: from its start, or from the last live update. */
  revision: string | null;
  /**
   * The generation of its VM's spec from which KubeVirt started it; null if KubeVirt doesn't say, or if that was the
   * spec of an earlier VM of the name.
   */
  startGeneration: number | null;
  /** What tells its pod from its other pods, before and after migrations; null until it has a node. */
  pod: string | null;
  /** The revision that this pod was made from, if the VMI has got another while it ran; else null. */
  podRevision: string | null;
  /** Why it is paused; null if it is not. */
  pause: Pause | null;
  /** KubeVirt's operations on it by its status, without those that the cluster no longer knows. */
  operations: readonly Operation[];
  /**
   * The migration of it that has not ended, of any client; null if there is none. Known from migrations: what a VMI
   * says about one may stay forever (`migrationState`).
   */
  migration: Omit<MigrationInFlight, 'namespace' | 'vmiName'> | null;
  /** When its last migration ended, in milliseconds since the epoch; null if KubeVirt reports none. */
  migratedAt: number | null;
  migratable: boolean;
  /** KubeVirt's own words for why it can't be migrated; null if it can be, or KubeVirt gives none. */
  whyNotMigratable: string | null;
  /** Its spec's own eviction strategy; null if it has the cluster's. */
  evictionStrategy: string | null;
  /** The node that its pod was to be evicted from; it has left that once it runs on another. */
  evacuationNode: string | null;
  /** What drover has done to migrate it; null if nothing. */
  evacuation: Evacuation | null;
  node: string | null;
  /**
   * The node of its pod until that has come up, while KubeVirt does not say yet that the VMI is there; null after that.
   */
  podNode: string | null;
  /** Whether that node is cordoned. */
  podNodeCordoned: boolean;
  /** Kubernetes starts its pods on cordoned nodes, too. */
  toleratesCordons: boolean;
  /** The node that it is on is drained: cordoned, or tainted for that. False if it is on none yet. */
  nodeDrained: boolean;
  /** Why Kubernetes would start it on no other node; null if one may take it, or as long as its node is not drained. */
  whyNoOtherNode: string | null;
  /**
   * The client that would move it off a node that stays, so that any eviction may come from it; null if there is none.
   * What KubeVirt notes of the descheduler stays when the eviction is taken back.
   */
  wishedBy: 'Descheduler' | 'KubeVirtUpdate' | null;
  /** It runs in a pod of an earlier KubeVirt. */
  launcherOutdated: boolean;
  /** Its node does not answer, or no longer exists. */
  nodeLost: boolean;
  /**
   * Since when its node has answered, or has not, in milliseconds since the epoch; null if that is not known, or was
   * not asked, as of a VMI that is ready.
   */
  nodeSince: number | null;
  /** KubeVirt's `status.machine.type`, which the VMI has; null until its domain runs. */
  machineType: string | null;
  /** The type that its spec asks for, which may be an alias. */
  specMachineType: string | null;
  cpu: { sockets: number | null; maxSockets: number | null; current: number | null };
  /** Kubernetes quantities as texts. */
  memory: { guest: string | null; maxGuest: string | null; atBoot: string | null; current: string | null };
  /** Canonical JSON of nodeSelector, affinity and tolerations. */
  placement: string;
  /** Names of the claims that its volumes use, including volumes plugged in while it ran. */
  disks: readonly string[];
  /** Names of the interfaces and volumes that its guest already has. */
  plugged: { interfaces: readonly string[]; volumes: readonly string[] };
  /** What KubeVirt says about CPUs, memory or interfaces that it is about to plug in; null if it plugs nothing. */
  plugging: string | null;
  /** Its pod is terminating, or has ended: KubeVirt reports this shortly before it updates the phase. */
  podTerminating: boolean;
  /**
   * Its controller, if any, and its labels; null for a VMI that a VM controls, which no other owner needs to manage.
   * Most VMIs are those of VMs, and labels take much memory.
   */
  standalone: { owner: VmView['owner']; labels: Record<string, string> } | null;
  /** KubeVirt's own words for why it isn't ready; null if it gives none. */
  whyNotReady: string | null;
}

/** KubeVirt says that it can be migrated. */
export const canBeMigrated = ({ migratable, phase }: VmiView): boolean => migratable && phase === 'Running';

/** True for a VMI that has ended, or never started. */
export const isFinal = (vmi: VmiView): boolean => vmi.phase === 'Succeeded' || vmi.phase === 'Failed';

/**
 * True for a VMI that won't run again: it is final, or its pod is terminating. Unknown, so false, if its node does not
 * answer.
 */
export const hasEnded = (vmi: VmiView): boolean => isFinal(vmi) || (vmi.podTerminating && !vmi.nodeLost);
