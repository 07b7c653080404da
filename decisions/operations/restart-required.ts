import { predatesChange } from '../annotations/transition-record.ts';
import type { VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';
import type { KubeVirtPlugs } from '../vm-update/disruption.ts';

/**
 * Reports whether the VM waits for a restart: KubeVirt, its pool or a machine type transition says so, or KubeVirt
 * plugs something into it with its next migration, and makes none by itself.
 */
export function isRestartRequired(vm: VmView, vmi: VmiView, { migrates }: Pick<KubeVirtPlugs, 'migrates'>): boolean {
  const { owner, revision, transition, transitionMark } = vm;
  if (vm.restartRequired !== null || (vmi.plugging !== null && !migrates)) return true;
  const isOfPool = owner?.kind === 'VirtualMachinePool';
  if (isOfPool && revision !== null && vmi.revision !== null && revision !== vmi.revision) return true;
  return (
    transition !== null &&
    transition.id === transitionMark &&
    predatesChange(vmi.machineType ?? vmi.specMachineType, transition)
  );
}
