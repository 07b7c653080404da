import { conditionOf, isTrue } from './conditions.ts';
import type { Phase, VirtualMachineInstance } from './kubevirt.ts';

/** On a VM: its VMI is deleted before the VM. On a VMI: its end is recorded in its VM before the VMI is deleted. */
export const VM_CONTROLLER_FINALIZER = 'kubevirt.io/virtualMachineControllerFinalize';
/** On a VMI: its guest is shut down before the VMI is deleted. */
export const VMI_FINALIZER = 'kubevirt.io/foregroundDeleteVirtualMachine';
export const GENERATION_ANNOTATION = 'kubevirt.io/vm-generation';
export const NODE_LABEL = 'kubevirt.io/nodeName';

export const phaseOf = (vmi: VirtualMachineInstance): Phase | undefined => vmi.status?.phase;

export const isFinal = (vmi: VirtualMachineInstance): boolean =>
  phaseOf(vmi) === 'Succeeded' || phaseOf(vmi) === 'Failed';

export const isDeleting = (object: { metadata: { deletionTimestamp?: string } }): boolean =>
  object.metadata.deletionTimestamp !== undefined;

/** Reports whether the VMI has ever been Running. */
export const hasRun = (vmi: VirtualMachineInstance): boolean =>
  vmi.status?.phaseTransitionTimestamps?.some(({ phase }) => phase === 'Running') ?? false;

export const isPaused = (vmi: VirtualMachineInstance): boolean => isTrue(vmi, 'Paused');

export const isReady = (vmi: VirtualMachineInstance): boolean => conditionOf(vmi, 'Ready')?.status === 'True';

export function isMigrating(vmi: VirtualMachineInstance): boolean {
  const state = vmi.status?.migrationState;
  return state !== undefined && state.startTimestamp != null && state.endTimestamp == null;
}
