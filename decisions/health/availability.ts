import type { VmTemplate } from '../../api/pool/pool.ts';
import { RUNS_BY_ITSELF } from '../../api/run-strategies.ts';
import type { VmView } from '../views/vm.ts';
import { isFinal, type VmiView } from '../views/vmi.ts';

/** The VMI of a VM; undefined if it has none. */
export type VmiOf = (vm: VmView) => VmiView | undefined;

/** A member of a pool or a set, and whether it is available. */
export interface MaybeAvailable {
  name: string;
  /**
   * When it has been, or will have been, ready for `minReadySeconds`, in milliseconds since the epoch; null if it is
   * down; undefined if it need not run, so that it is neither available nor unavailable.
   */
  availableSince: number | null | undefined;
}

/** Reports whether a VM, or VMs made from the template, start by themselves. */
export const runsByItself = ({ spec }: { spec: Pick<VmTemplate['spec'], 'running' | 'runStrategy'> }): boolean =>
  spec.running === true || RUNS_BY_ITSELF.includes(spec.runStrategy ?? '');

/** Returns the VMI if it runs or starts; undefined if the VMI is terminating, final or absent. */
export function liveVmi(vmi: VmiView | undefined): VmiView | undefined {
  return vmi === undefined || vmi.deleting || isFinal(vmi) ? undefined : vmi;
}

/**
 * Reports whether the VM's owner wants it to run now: a stopped VM is not unavailable, however long it stays stopped.
 */
export function isMeantToRun(vm: VmView, vmi: VmiView | undefined): boolean {
  switch (vm.runStrategy) {
    case 'Always':
      return true;
    case 'Once':
      // KubeVirt starts it whenever it has no VMI, and leaves an ended VMI as it is, unless that is terminating.
      return vmi === undefined || vmi.deleting || !isFinal(vmi);
    case 'RerunOnFailure':
      if (vmi !== undefined) return vmi.phase !== 'Succeeded' || vm.changingState || hasNext(vm, vmi);
      // As KubeVirt decides it: a status such as `Provisioning` says what its disks are, not what its owner wants.
      return vm.changingState || vm.lastRunStrategy !== vm.runStrategy || vm.state === 'Starting' || saysItRuns(vm);
    case 'Manual':
      if (vm.changingState) return true;
      if (vmi !== undefined && isFinal(vmi)) return hasNext(vm, vmi);
      return liveVmi(vmi) !== undefined || saysItRuns(vm);
    default:
      return false;
  }
}

/**
 * The VM's own status counts too: VMs and VMIs are watched separately, so the cached VMI may be older or newer, and of
 * a restart only one half may have been seen.
 */
const saysItRuns = ({ hasVmi, state }: VmView): boolean => hasVmi && state !== 'Stopping' && state !== 'Stopped';

/** The cached VMI has ended, and the VM's own status is newer than it: that is about the VMI after it. */
const hasNext = ({ state }: VmView, ended: VmiView): boolean =>
  ended.deleting && (state === 'Starting' || state === 'Running');

/** Returns the VMI if it will continue running: that of a VM that its owner has stopped ends by itself. */
export const activeVmi = (vm: VmView, vmi: VmiView | undefined): VmiView | undefined =>
  isMeantToRun(vm, vmi) ? liveVmi(vmi) : undefined;

/** Ready according to both the VM and its VMI: one lags behind the other when a VMI stops. */
export const isReady = (vm: VmView, vmi: VmiView | undefined): boolean =>
  vm.ready && vmi !== undefined && vmi.ready && !vmi.deleting;

/**
 * Returns when the VM has been, or will have been, ready for `minReadyMs`, in milliseconds since the epoch; null if it
 * is down. 0 for a VM that need not run.
 */
export function availableSince(vm: VmView, vmi: VmiView | undefined, minReadyMs: number): number | null {
  if (!isMeantToRun(vm, vmi)) return 0;
  return isReady(vm, vmi) ? (vmi?.readySince ?? 0) + minReadyMs : null;
}

/**
 * The owner or a workflow has asked KubeVirt to restart the VM: if it is still ready, it won't be for long. The request
 * alone proves nothing, because KubeVirt never answers requests to a VM that was halted since.
 */
export const isRestarting = (vm: VmView, vmi: VmiView | undefined): boolean =>
  vm.changingState && isMeantToRun(vm, vmi);

export const isDown = (vm: VmView, vmi: VmiView | undefined): boolean => isMeantToRun(vm, vmi) && !isReady(vm, vmi);

/**
 * Reports whether the VM provides no service, so that it may be disrupted whatever the budget. Goes by the VMI alone,
 * because the VM's status may not say yet that its VMI is ready.
 */
export const servesNobody = (vm: VmView, vmi: VmiView | undefined): boolean =>
  isMeantToRun(vm, vmi) && liveVmi(vmi)?.ready !== true;

/**
 * The VM has no VMI and is not meant to have one: it was halted, shut down, or ran once to its end. Its owner loses
 * no service with it.
 */
export const isAtRest = (vm: VmView, vmi: VmiView | undefined): boolean =>
  !isMeantToRun(vm, vmi) && (vmi === undefined ? !vm.hasVmi : isFinal(vmi));

/** VMs that stay in the pool: others neither serve nor count. */
export const isActive = (vm: Pick<VmView, 'deleting' | 'removing'>): boolean => !vm.deleting && !vm.removing;

/** Run strategies under which KubeVirt leaves a VMI that has ended, and starts no other. */
const ENDS = new Set(['Once', 'RerunOnFailure']);

/** A VM that is stopped, or whose node does not answer, may run again, and has not ended. */
export const vmHasEnded = (vm: VmView, vmi: VmiView | undefined): boolean =>
  !vm.deleting &&
  ENDS.has(vm.runStrategy) &&
  vmi !== undefined &&
  isKnownToHaveEnded(vmi) &&
  !vmi.deleting &&
  !isMeantToRun(vm, vmi);

/**
 * KubeVirt calls a VMI failed once its pod is gone from the API, which on a node that does not answer proves nothing
 * about its guest. That it has succeeded, only its node says.
 */
export const isKnownToHaveEnded = (vmi: VmiView): boolean => (vmi.nodeLost ? vmi.phase === 'Succeeded' : isFinal(vmi));
