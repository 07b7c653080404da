import type { VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';

/** KubeVirt's reason of the condition `Paused` of a VMI that a user has paused by a call (virt-handler, `vm.go`). */
const BY_USER = 'PausedByUser';

/**
 * Reports whether the VMI is paused on request, by a user or by drover, which pauses standby VMs. All other pauses,
 * such as after an I/O error, are faults.
 */
export const isPausedOnRequest = (vmi: Pick<VmiView, 'pause'> | undefined): boolean => vmi?.pause?.reason === BY_USER;

/** Reports whether a user has paused the VM: only a user takes that back. */
export const isPausedByPerson = (vm: Pick<VmView, 'role'>, vmi: Pick<VmiView, 'pause'> | undefined): boolean =>
  isPausedOnRequest(vmi) && vm.role !== 'Standby';
