import { VirtualMachinePools, VirtualMachineReplicaSets } from '../../api/resources.ts';
import type { VmView } from '../views/vm.ts';

/** Owners that give their VMs what their template says: drover's own, and KubeVirt's pools. */
const TEMPLATED = [
  VirtualMachinePools.kind,
  VirtualMachineReplicaSets.kind,
  `${VirtualMachinePools.kind}.pool.kubevirt.io`,
];

/** Returns why a VM follows a template, and so must not be changed by itself; null if it does not. */
export const whyTemplated = (owner: VmView['owner']): string | null =>
  owner !== null && TEMPLATED.includes(owner.kind)
    ? `its template sets it: change the template of ${owner.kind.split('.')[0]} ${owner.name}`
    : null;
