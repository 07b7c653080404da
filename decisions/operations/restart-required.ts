import { predatesChange } from '../annotations/transition-record.ts';
import type { VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';

/** Reports whether the VM waits for a restart: KubeVirt, its pool or a machine type transition says so. */
export function isRestartRequired(vm: VmView, vmi: VmiView): boolean {
  const { owner, revision, transition, transitionMark } = vm;
  if (vm.restartRequired !== null) return true;
  const isOfPool = owner?.kind === 'VirtualMachinePool';
  if (isOfPool && revision !== null && vmi.revision !== null && revision !== vmi.revision) return true;
  return (
    transition !== null &&
    transition.id === transitionMark &&
    predatesChange(vmi.machineType ?? vmi.specMachineType, transition)
  );
}
