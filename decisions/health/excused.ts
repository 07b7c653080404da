import { isPausedOnRequest } from '../disruption/pause.ts';
import { whyNotNow } from '../disruption/reasons.ts';
import type { VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';
import { isDown, liveVmi } from './availability.ts';

/** Printable statuses of a VM that waits for something that its replacement would have to wait for, too. */
const WAITS_FOR_ITS_SURROUNDINGS = new Set([
  'ErrorUnschedulable',
  'ErrorPvcNotFound',
  'DataVolumeError',
  'ErrImagePull',
  'ImagePullBackOff',
  'Provisioning',
  'WaitingForVolumeBinding',
]);

/** The states of a VM whose disks are being made. */
const FILLING = new Set(['Provisioning', 'WaitingForVolumeBinding']);

/** True for a VM that is not ready because of something outside of the VM. */
export const waitsForItsSurroundings = ({ state }: Pick<VmView, 'state'>): boolean =>
  WAITS_FOR_ITS_SURROUNDINGS.has(state);

/** True if the VM's node does not answer: its VMI may still run unseen. */
export const isNodeUnknown = (vm: VmView, vmi: VmiView | undefined): boolean =>
  vmi?.nodeLost === true || vm.state === 'Unknown' || vmi?.phase === 'Unknown';

/** What a message adds of a VMI that can't be brought to anything, since its node does not answer; else nothing. */
export const silenceOf = (vmi: VmiView | undefined): string =>
  vmi?.nodeLost === true ? `; its node ${vmi.node} does not answer` : '';

/** True for a VM that must not be touched now, or is not ready because drover or a user has paused it. */
export const isExempt = (vm: VmView, vmi: VmiView | undefined): boolean => whyLeftAlone(vm, vmi) !== null;

/** Returns why the VM must not be touched; null if it may be. */
export const whyLeftAlone = (vm: VmView, vmi: VmiView | undefined): string | null =>
  whyNotNow(vm, liveVmi(vmi))?.message ?? (isPausedOnRequest(vmi) ? 'it is paused' : null);

/**
 * True for a VM that may be unready because of its node, its environment or an operation on it, not because of a fault
 * of the VM.
 */
export const isExcused = (vm: VmView, vmi: VmiView | undefined): boolean =>
  isNodeUnknown(vm, vmi) || waitsForItsSurroundings(vm) || isExempt(vm, vmi);

/** Printable statuses of a VM whose VMI waits for something that may never come. */
const NOT_STARTING = new Set([...WAITS_FOR_ITS_SURROUNDINGS].filter((state) => !FILLING.has(state)));

/** Says what keeps a VM that should run from starting, in KubeVirt's words; null if nothing is known to. */
export function whyNotStarting(vm: VmView, vmi: VmiView | undefined): string | null {
  if (!isDown(vm, vmi)) return null;
  const live = liveVmi(vmi);
  if (live === undefined && vm.failure !== null) return vm.failure;
  if (!NOT_STARTING.has(vm.state)) return null;
  return live?.whyNotReady == null ? vm.state : `${vm.state}: ${live.whyNotReady}`;
}
