import { isActive, isMeantToRun, isReady, liveVmi } from '../../decisions/health/availability.ts';
import { isBroken, isFailing, type VmView } from '../../decisions/views/vm.ts';
import { isFinal, type VmiView } from '../../decisions/views/vmi.ts';
import { waitOf, type VmState, type VmWait, type Waiting } from './vm-wait.ts';

/** What is done to a VM, beside what its own objects say. */
interface VmFlags extends Pick<Waiting, 'migration' | 'cycle' | 'said' | 'retryAt'> {
  /** The rollout of its pool counts it as failed. */
  hasFailed?: boolean;
  /** It has a claim on the budget of its pool: it goes down, or comes back. */
  isClaimed?: boolean;
}

/** A member of a pool or set, as commands and the dashboard count it. */
export interface SeenVm {
  state: VmState;
  isReady: boolean;
  /** It should run and is not ready. */
  isDown: boolean;
  /** What it waits for; null if it is as its owner wants it. */
  wait: VmWait | null;
}

const STARTING = new Set(['Starting', 'Provisioning', 'WaitingForVolumeBinding', 'WaitingForReceiver', '']);

/** `vmi`: null if it was not read, so that the VM's own word counts. */
export function seenVm(vm: VmView, vmi: VmiView | undefined | null, flags: VmFlags = {}): SeenVm {
  const isUp = isActive(vm) && (vmi === null ? vm.ready : isReady(vm, vmi));
  const isWanted = vmi === null ? saysItShouldRun(vm) : isMeantToRun(vm, vmi);
  const state = stateOf(vm, vmi ?? undefined, flags, { isUp, isWanted });
  return {
    state,
    isReady: isUp,
    isDown: isActive(vm) && isWanted && !isUp,
    wait: waitOf(state, { ...flags, vm, vmi }),
  };
}

const saysItShouldRun = ({ runStrategy, state, hasVmi }: VmView): boolean =>
  runStrategy === 'Always' || (state !== 'Stopped' && (hasVmi || runStrategy !== 'Halted'));

interface Known {
  isUp: boolean;
  isWanted: boolean;
}

function stateOf(vm: VmView, vmi: VmiView | undefined, flags: VmFlags, { isUp, isWanted }: Known): VmState {
  if (vm.deleting) return 'T';
  if (flags.cycle != null) return 'H';
  if (vm.removing) return 'T';
  if (flags.migration !== undefined) return 'M';
  if (vm.roleLabel === 'Standby' && (isUp || vm.standby !== null) && !isBroken(vm)) return 'Y';
  if (vmi?.pause != null) return 'P';
  if (isUp) return vm.changingState ? 'U' : 'R';
  if (!isWanted) return liveVmi(vmi) === undefined ? 'O' : 'T';
  return downStateOf(vm, vmi, flags);
}

function downStateOf(vm: VmView, vmi: VmiView | undefined, flags: VmFlags): VmState {
  if (isFailing(vm) || flags.hasFailed === true) return 'F';
  if (flags.isClaimed === true || vm.changingState) return 'U';
  if (isBroken(vm)) return 'F';
  return isComing(vm, vmi) ? 'S' : 'D';
}

/** A VMI that has come up and is not ready is down, and so is a VM of which KubeVirt makes no VMI. */
function isComing(vm: VmView, vmi: VmiView | undefined): boolean {
  if (vmi === undefined) return STARTING.has(vm.state);
  return vmi.deleting || (!isFinal(vmi) && vmi.phase !== 'Running') || vm.state === 'Starting';
}

/** The same of a VMI that a set keeps without a VM. */
export function seenVmi(vmi: VmiView, migration?: VmFlags['migration']): SeenVm {
  const isUp = vmi.ready && !vmi.deleting;
  const state = stateOfVmi(vmi, migration !== undefined);
  return {
    state,
    isReady: isUp,
    isDown: !isUp && !vmi.deleting && vmi.phase !== 'Succeeded',
    wait: waitOf(state, { vm: null, vmi, migration }),
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
