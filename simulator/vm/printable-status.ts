import { conditionOf } from '../objects/conditions.ts';
import type { StartFailure, VirtualMachine, VirtualMachineInstance } from '../objects/kubevirt.ts';
import { isDeleting, isFinal, isMigrating, isPaused, phaseOf } from '../objects/vmi.ts';
import { runStrategyOf } from './run-strategy.ts';

export interface Shown {
  vm: VirtualMachine;
  vmi: VirtualMachineInstance | undefined;
  startFailure: StartFailure | undefined;
  /** Phases of those DataVolumes that the VM's volumes name and that exist. */
  dataVolumePhases: readonly (string | undefined)[];
  /** True if a claim of the VM exists but isn't bound yet. */
  unboundClaim: boolean;
  /** True if this pass has just created the VMI; `vmi` is still undefined then. */
  starting?: boolean;
}

const FILLED = new Set(['Succeeded', 'WaitForFirstConsumer', 'PendingPopulation', 'Failed']);
const COUNTING = new Set(['Always', 'RerunOnFailure', 'Once']);

/** In KubeVirt's order: the VM shows the first status that holds. */
const order: readonly [name: string, holds: (shown: Shown) => boolean][] = [
  ['Terminating', ({ vm }) => isDeleting(vm)],
  ['Stopping', ({ vmi }) => vmi !== undefined && !isFinal(vmi) && isDeleting(vmi)],
  ['Migrating', ({ vmi }) => vmi !== undefined && isMigrating(vmi)],
  ['Paused', ({ vmi }) => vmi !== undefined && phaseOf(vmi) === 'Running' && isPaused(vmi)],
  ['Running', ({ vmi }) => vmi !== undefined && phaseOf(vmi) === 'Running'],
  ['ErrorPvcNotFound', ({ vmi }) => isFalse(vmi, 'Synchronized', 'FailedPvcNotFound')],
  ['DataVolumeError', ({ dataVolumePhases }) => dataVolumePhases.includes('Failed')],
  ['ErrorUnschedulable', ({ vmi }) => isFalse(vmi, 'PodScheduled', 'Unschedulable')],
  ['Provisioning', ({ dataVolumePhases }) => dataVolumePhases.some((phase) => !FILLED.has(phase ?? ''))],
  ['WaitingForVolumeBinding', (shown) => shown.unboundClaim && isSetToStart(shown)],
  ['ImagePullBackOff', ({ vmi }) => isFalse(vmi, 'Synchronized', 'ImagePullBackOff')],
  ['Starting', ({ vmi, starting }) => (vmi === undefined ? starting === true : !isFinal(vmi))],
  ['CrashLoopBackOff', ({ vm, startFailure }) => startFailure !== undefined && COUNTING.has(runStrategyOf(vm))],
  ['Stopped', () => true],
];

export const printableStatus = (shown: Shown): string => order.find(([, applies]) => applies(shown))![0];

const isFalse = (vmi: VirtualMachineInstance | undefined, type: string, reason: string): boolean => {
  const condition = conditionOf(vmi, type);
  return condition?.status === 'False' && condition.reason === reason;
};

function isSetToStart({ vm, vmi }: Shown): boolean {
  const strategy = runStrategyOf(vm);
  if (strategy === 'Always') return true;
  return strategy !== 'Halted' && (vmi === undefined ? strategy === 'Once' : !isFinal(vmi));
}
