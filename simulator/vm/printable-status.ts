import { conditionOf } from '../store/conditions.ts';
import type { StartFailure, VirtualMachine, VirtualMachineInstance } from '../types.ts';
import { isDeleting, isFinal, isMigrating, isPaused, phaseOf } from '../vmi/vmi.ts';
import { runStrategyOf } from './run-strategy.ts';

export interface Shown {
  machine: VirtualMachine;
  instance: VirtualMachineInstance | undefined;
  startFailure: StartFailure | undefined;
  /** Phases of those DataVolumes that the VM's volumes name and that exist. */
  dataVolumePhases: readonly (string | undefined)[];
  /** True if a claim of the VM exists but isn't bound yet. */
  unboundClaim: boolean;
  /** True if this pass has just created the VMI; `instance` is still undefined then. */
  starting?: boolean;
}

const FILLED = new Set(['Succeeded', 'WaitForFirstConsumer', 'PendingPopulation', 'Failed']);
const COUNTING = new Set(['Always', 'RerunOnFailure', 'Once']);

/** In KubeVirt's order: the VM shows the first status that holds. */
const order: readonly [name: string, holds: (shown: Shown) => boolean][] = [
  ['Terminating', ({ machine }) => isDeleting(machine)],
  ['Stopping', ({ instance }) => instance !== undefined && !isFinal(instance) && isDeleting(instance)],
  ['Migrating', ({ instance }) => instance !== undefined && isMigrating(instance)],
  ['Paused', ({ instance }) => instance !== undefined && phaseOf(instance) === 'Running' && isPaused(instance)],
  ['Running', ({ instance }) => instance !== undefined && phaseOf(instance) === 'Running'],
  ['ErrorPvcNotFound', ({ instance }) => isFalse(instance, 'Synchronized', 'FailedPvcNotFound')],
  ['DataVolumeError', ({ dataVolumePhases }) => dataVolumePhases.includes('Failed')],
  ['ErrorUnschedulable', ({ instance }) => isFalse(instance, 'PodScheduled', 'Unschedulable')],
  ['Provisioning', ({ dataVolumePhases }) => dataVolumePhases.some((phase) => !FILLED.has(phase ?? ''))],
  ['WaitingForVolumeBinding', (shown) => shown.unboundClaim && isSetToStart(shown)],
  ['ImagePullBackOff', ({ instance }) => isFalse(instance, 'Synchronized', 'ImagePullBackOff')],
  ['Starting', ({ instance, starting }) => (instance === undefined ? starting === true : !isFinal(instance))],
  [
    'CrashLoopBackOff',
    ({ machine, startFailure }) => startFailure !== undefined && COUNTING.has(runStrategyOf(machine)),
  ],
  ['Stopped', () => true],
];

export const printableStatus = (shown: Shown): string => order.find(([, holds]) => holds(shown))![0];

const isFalse = (instance: VirtualMachineInstance | undefined, type: string, reason: string): boolean => {
  const condition = conditionOf(instance, type);
  return condition?.status === 'False' && condition.reason === reason;
};

function isSetToStart({ machine, instance }: Shown): boolean {
  const strategy = runStrategyOf(machine);
  if (strategy === 'Always') return true;
  return strategy !== 'Halted' && (instance === undefined ? strategy === 'Once' : !isFinal(instance));
}
