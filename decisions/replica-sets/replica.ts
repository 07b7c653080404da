import {
  availableSince,
  isMeantToRun,
  isReady,
  vmHasEnded,
  isKnownToHaveEnded,
  type MaybeAvailable,
} from '../health/availability.ts';
import { whyNotStarting } from '../health/excused.ts';
import type { Leaver } from '../owners/steps.ts';
import { deletionBlockedBy } from '../owners/terminating.ts';
import { isMoving } from '../views/drained-node.ts';
import { isFailing, isHalted, type VmView } from '../views/vm.ts';
import { hasEnded, type VmiView } from '../views/vmi.ts';

/** A VM or a VMI that a set has or may have: all that the plan of a set reads of it. */
export interface Replica extends Leaver, MaybeAvailable {
  labels: Record<string, string>;
  /** Milliseconds since the epoch. */
  createdAt: number;
  /** In a final state: it won't run again. */
  hasEnded: boolean;
  /** Since when it is terminating, in milliseconds since the epoch; null if it is not. */
  leavingSince: number | null;
  /** What keeps it while it is being deleted, if that is known: finalizers of others. */
  blockedBy: string | null;
  /** Its node does not answer. */
  isLost: boolean;
  /** It is unknown whether it runs, or will. */
  isUnknown: boolean;
  isReady: boolean;
  /** Can't run as it is. */
  isFailing: boolean;
  /** It migrates, or its node is drained. */
  isMoving: boolean;
  /** Was not asked to run. */
  isHalted: boolean;
  /** KubeVirt's word for how it is. */
  state: string;
  /** What keeps it from starting, in KubeVirt's words; null if nothing is known to. */
  whyNotStarting: string | null;
}

export const replicaOfVm = (vm: VmView, vmi: VmiView | undefined, minReadyMs: number): Replica => ({
  name: vm.name,
  uid: vm.uid,
  resourceVersion: vm.resourceVersion,
  deleting: vm.deleting,
  labels: vm.ownLabels,
  createdAt: vm.createdAt,
  hasEnded: vmHasEnded(vm, vmi),
  leavingSince: vm.leavingSince,
  blockedBy: deletionBlockedBy(vm, vmi),
  isLost: vmi?.nodeLost === true,
  isUnknown: vmi?.nodeLost === true && !isKnownToHaveEnded(vmi),
  isReady: isReady(vm, vmi),
  isFailing: isFailing(vm),
  isMoving: vmi !== undefined && isMoving(vmi),
  isHalted: isHalted(vm),
  availableSince: vmAvailableSince(vm, vmi, minReadyMs),
  state: vm.state,
  whyNotStarting: whyNotStarting(vm, vmi),
});

function vmAvailableSince(vm: VmView, vmi: VmiView | undefined, minReadyMs: number): Replica['availableSince'] {
  if (isMeantToRun(vm, vmi)) return availableSince(vm, vmi, minReadyMs);
  return vmi?.nodeLost === true ? null : undefined;
}

export const replicaOfVmi = (vmi: VmiView, minReadyMs: number): Replica => {
  const isUnknown = !hasEnded(vmi) && vmi.nodeLost;
  const ready = vmi.ready && !vmi.deleting && !hasEnded(vmi) && !isUnknown;
  return {
    name: vmi.name,
    uid: vmi.uid,
    resourceVersion: vmi.resourceVersion,
    deleting: vmi.deleting,
    labels: vmi.standalone?.labels ?? {},
    createdAt: vmi.createdAt,
    hasEnded: hasEnded(vmi),
    leavingSince: vmi.deletingSince,
    blockedBy: vmi.blockedBy,
    isLost: vmi.nodeLost,
    isUnknown,
    isReady: ready,
    isFailing: false,
    isMoving: isMoving(vmi),
    isHalted: false,
    availableSince: ready ? (vmi.readySince ?? 0) + minReadyMs : null,
    state: stateOf(vmi, isUnknown),
    whyNotStarting: null,
  };
};

function stateOf({ deleting, phase }: VmiView, isUnknown: boolean): string {
  if (deleting) return 'Terminating';
  return isUnknown ? 'Unknown' : phase;
}

/** Reports whether a VMI holds a place in its set, if its labels match. */
export const isActiveVmi = (vmi: VmiView): boolean => !vmi.deleting && !hasEnded(vmi) && !vmi.nodeLost;
