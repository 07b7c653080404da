import type { TransitionRecord } from '../machine-types/transition.ts';

/** What drover keeps of a VirtualMachine: all that its decisions read, and nothing else. */
export interface VmView {
  namespace: string;
  name: string;
  uid: string;
  resourceVersion: string;
  /** The controller among its owners; a VM without one is nobody's. */
  owner: { kind: string; name: string; uid: string } | null;
  /** Milliseconds since the epoch. */
  createdAt: number;
  /** Has a deletion timestamp: it is stopping, and its name stays taken until it is gone. */
  deleting: boolean;
  /** Marked by drover as leaving the pool with its disks kept. */
  removing: boolean;
  /** Held by drover until its disks are no longer its own; it may be going already. */
  keepsDisks: boolean;
  /** Its own labels and, below them, those of its VMI template. */
  labels: Record<string, string>;
  /** Its own labels alone. */
  ownLabels: Record<string, string>;
  /** It has annotations, so that a JSON patch can add one to them. */
  annotated: boolean;
  /** Hash of the pool template that it was made from; null where its label is missing. */
  revision: string | null;
  runStrategy: string;
  /** Of its VMI template: KubeVirt fills it in where it is left out, so that it is null only where nothing did. */
  machineType: string | null;
  architecture: string | null;
  /**
   * `kind/name` of what `spec.preference` refers to, or `kind/namespace/name`; with `@` and which state of it the VM
   * keeps.
   */
  preference: string | null;
  /** What the last machine type transition has changed. */
  transition: TransitionRecord | null;
  /**
   * Id of the machine type transition for which it waits to be restarted, or has been and is not yet known to be well.
   */
  transitionMark: string | null;
  /** Where its guest may run, as `placementOf` writes it. */
  placement: string;
  /** KubeVirt's `status.created`: it has a VMI. */
  hasVmi: boolean;
  ready: boolean;
  /** KubeVirt's `status.printableStatus`. */
  state: string;
  /** KubeVirt's `status.startFailure.consecutiveFailCount`. */
  startFailures: number;
  /** KubeVirt's `status.startFailure.lastFailedVMIUID`. */
  lastFailedVmi: string | null;
  /**
   * Since when KubeVirt says that it is not ready, in milliseconds since the epoch; null where it is, or nothing is
   * said.
   */
  notReadySince: number | null;
  /**
   * Drover's mark of a VM that has not run well yet: empty, or the UID of a VMI (`NOT_YET_RUN_ANNOTATION`); null
   * without.
   */
  notYetRun: string | null;
  /** Its owner asked by annotation that nothing disrupts it. */
  optedOut: boolean;
  /** KubeVirt's RestartRequired: since when (milliseconds since the epoch, null where it doesn't say), and why. */
  restartRequired: { since: number | null; why: string } | null;
  /** It was asked to start, stop or restart, and KubeVirt has not done so yet. */
  changingState: boolean;
  /**
   * KubeVirt has taken notice of its spec: a guest that it starts from now on is of that. True too where KubeVirt
   * doesn't say.
   */
  generationObserved: boolean;
  /** KubeVirt is taking a snapshot of it, or restoring one. */
  snapshotting: boolean;
}

/** States in which KubeVirt says that a VM cannot run, whatever becomes of the cluster around it. */
const FAILING_STATES = new Set(['CrashLoopBackOff', 'ErrorPvcNotFound', 'DataVolumeError']);
/** States of a VM that can't run now, and may again without anybody's doing: a node, room or a registry comes back. */
const PASSING_STATES = new Set(['ErrorUnschedulable', 'ErrImagePull', 'ImagePullBackOff', 'Unknown']);

/** True for a VM whose own starts fail, or whose disks can't be had. */
export const isFailing = (vm: VmView): boolean => vm.startFailures > 0 || FAILING_STATES.has(vm.state);

export const isBroken = (vm: VmView): boolean => isFailing(vm) || PASSING_STATES.has(vm.state);

/** True for a VM that nobody asked to run: stopping or deleting it disturbs no guest. */
export const isHalted = (vm: VmView): boolean =>
  !vm.hasVmi && (vm.runStrategy === 'Halted' || vm.runStrategy === 'Manual');
