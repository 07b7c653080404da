import { conditionOf, isTrue } from '../store/conditions.ts';
import type { Phase, VirtualMachineInstance } from '../types.ts';

/** On a VM: its VMI is deleted before the VM. On a VMI: its end is recorded in its VM before the VMI is deleted. */
export const VM_CONTROLLER_FINALIZER = 'kubevirt.io/virtualMachineControllerFinalize';
/** On a VMI: its guest is shut down before the VMI is deleted. */
export const INSTANCE_FINALIZER = 'kubevirt.io/foregroundDeleteVirtualMachine';
export const GENERATION_ANNOTATION = 'kubevirt.io/vm-generation';
export const NODE_LABEL = 'kubevirt.io/nodeName';

export const phaseOf = (instance: VirtualMachineInstance): Phase | undefined => instance.status?.phase;

export const isFinal = (instance: VirtualMachineInstance): boolean =>
  phaseOf(instance) === 'Succeeded' || phaseOf(instance) === 'Failed';

export const isDeleting = (object: { metadata: { deletionTimestamp?: string } }): boolean =>
  object.metadata.deletionTimestamp !== undefined;

/** Reports whether the VMI has ever been Running. */
export const hasRun = (instance: VirtualMachineInstance): boolean =>
  instance.status?.phaseTransitionTimestamps?.some(({ phase }) => phase === 'Running') ?? false;

export const isPaused = (instance: VirtualMachineInstance): boolean => isTrue(instance, 'Paused');

export const isReady = (instance: VirtualMachineInstance): boolean => conditionOf(instance, 'Ready')?.status === 'True';

export function isMigrating(instance: VirtualMachineInstance): boolean {
  const state = instance.status?.migrationState;
  return state !== undefined && state.startTimestamp != null && state.endTimestamp == null;
}
