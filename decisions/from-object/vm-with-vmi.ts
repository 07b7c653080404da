import type { Stored } from '../../api/objects.ts';
import { byController, identityOf } from '../../api/owner-references.ts';
import { VirtualMachines } from '../../api/resources.ts';
import type { VirtualMachine } from './vm.ts';
import type { VirtualMachineInstance } from './vmi.ts';

/** A VM, and the VMI that is its own; undefined without one. */
export interface VmWithVmi {
  vm: Stored<VirtualMachine>;
  vmi: Stored<VirtualMachineInstance> | undefined;
}

export function withVmis(
  vms: readonly Stored<VirtualMachine>[],
  vmis: Iterable<Stored<VirtualMachineInstance>>,
): VmWithVmi[] {
  const vmisOf = byController(vmis, VirtualMachines);
  return vms.map((vm) => ({ vm, vmi: vmisOf(identityOf(vm))[0] }));
}
