import { isActive, isMeantToRun, isReady, liveVmi } from '../../../decisions/health/availability.ts';
import { isBroken, isFailing, type VmView } from '../../../decisions/views/vm.ts';
import { isFinal, type VmiView } from '../../../decisions/views/vmi.ts';
import type { VmState } from '../contract/fleet.ts';

/** What is known of a VM beside its own objects. */
interface VmFlags {
  /** A migration of its VMI has not ended. */
  isMigrating: boolean;
  /** Its pool replaces it. */
  isHealed: boolean;
  /** The rollout of its pool counts it as failed. */
  hasFailed: boolean;
  /** It has a claim on the budget of its pool: it goes down, or comes back. */
  isClaimed: boolean;
}

export interface SeenVm {
  state: VmState;
  /** As commands count it. */
  isReady: boolean;
  /** It should run and is not ready. */
  isDown: boolean;
}

const STARTING = new Set(['Starting', 'Provisioning', 'WaitingForVolumeBinding', 'WaitingForReceiver', '']);

/** `vmi`: null if the user may not see VMIs, so that the VM's own word counts. */
export function seenVm(vm: VmView, vmi: VmiView | undefined | null, flags: VmFlags): SeenVm {
  const ready = isActive(vm) && (vmi === null ? vm.ready : isReady(vm, vmi));
  const isWanted = vmi === null ? vm.hasVmi || vm.runStrategy === 'Always' : isMeantToRun(vm, vmi);
  return {
    state: stateOf(vm, vmi ?? undefined, flags, { ready, isWanted }),
    isReady: ready,
    isDown: isActive(vm) && isWanted && !ready,
  };
}

interface Known {
  ready: boolean;
  isWanted: boolean;
}

function stateOf(vm: VmView, vmi: VmiView | undefined, flags: VmFlags, { ready, isWanted }: Known): VmState {
  if (vm.deleting) return 'T';
  if (flags.isHealed) return 'H';
  if (vm.removing) return 'T';
  if (flags.isMigrating) return 'M';
  if (vm.roleLabel === 'Standby' && (ready || vm.standby !== null) && !isBroken(vm)) return 'Y';
  if (vmi?.pause != null) return 'P';
  if (ready) return vm.changingState ? 'U' : 'R';
  if (!isWanted) return liveVmi(vmi) === undefined ? 'O' : 'T';
  return downStateOf(vm, vmi, flags);
}

function downStateOf(vm: VmView, vmi: VmiView | undefined, flags: VmFlags): VmState {
  if (isFailing(vm) || flags.hasFailed) return 'F';
  if (flags.isClaimed || vm.changingState) return 'U';
  if (isBroken(vm)) return 'F';
  return isComing(vm, vmi) ? 'S' : 'D';
}

/** A VMI that has come up and is not ready is down, and so is a VM of which KubeVirt makes no VMI. */
function isComing(vm: VmView, vmi: VmiView | undefined): boolean {
  if (vmi === undefined) return STARTING.has(vm.state);
  return vmi.deleting || (!isFinal(vmi) && vmi.phase !== 'Running') || vm.state === 'Starting';
}

/** The same of a VMI that a set keeps without a VM. */
export function seenVmi(vmi: VmiView, isMigrating: boolean): SeenVm {
  const isUp = vmi.ready && !vmi.deleting;
  return {
    state: stateOfVmi(vmi, isMigrating),
    isReady: isUp,
    isDown: !isUp && !vmi.deleting && vmi.phase !== 'Succeeded',
  };
}

function stateOfVmi(vmi: VmiView, isMigrating: boolean): VmState {
  if (vmi.deleting) return 'T';
  if (isFinal(vmi)) return vmi.phase === 'Failed' ? 'F' : 'O';
  if (isMigrating) return 'M';
  if (vmi.pause !== null) return 'P';
  if (vmi.ready) return 'R';
  return vmi.phase === 'Running' ? 'D' : 'S';
}
