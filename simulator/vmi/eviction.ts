import type { Stored } from '../../api/objects.ts';
import { SimulatorAnnotation } from '../objects/annotations.ts';
import { isTrue } from '../objects/conditions.ts';
import type { KubeVirt, VirtualMachineInstance } from '../objects/kubevirt.ts';
import { isDeleting, isFinal } from '../objects/vmi.ts';

/** KubeVirt's annotation of a VMI whose eviction the descheduler has asked for, until it has left its node. */
export const EVICTION_SOURCE = 'kubevirt.io/eviction-source';

/** Returns the VMI as an eviction marks it: it is to leave its node, and whether only the descheduler wishes so. */
export function withEvacuation(vmi: Stored<VirtualMachineInstance>): Stored<VirtualMachineInstance> {
  const { metadata, status } = vmi;
  const isWish = metadata.annotations?.[SimulatorAnnotation.evictedBy] === 'descheduler';
  const annotations = isWish ? { ...metadata.annotations, [EVICTION_SOURCE]: 'descheduler' } : metadata.annotations;
  return {
    ...vmi,
    metadata: { ...metadata, ...(annotations === undefined ? {} : { annotations }) },
    status: { ...status, ...(status?.nodeName === undefined ? {} : { evacuationNodeName: status.nodeName }) },
  };
}

/**
 * What KubeVirt does when the pod of a VMI is to be evicted: it lets the pod go, so that the VMI ends; it refuses, and
 * notes on the VMI that it is to leave its node, and migrates it or not; or it refuses alone.
 */
export type Eviction = 'nothing' | 'end' | 'requestEvacuation' | 'migrate' | 'refuse';

export function evictionOf(vmi: VirtualMachineInstance, kubevirt: KubeVirt | undefined): Eviction {
  const { nodeName, evacuationNodeName } = vmi.status ?? {};
  if (isFinal(vmi) || isDeleting(vmi) || nodeName === undefined || evacuationNodeName === nodeName) return 'nothing';
  const canMigrate = isTrue(vmi, 'LiveMigratable');
  switch (vmi.spec.evictionStrategy ?? kubevirt?.spec?.configuration?.evictionStrategy ?? 'None') {
    case 'External':
      return 'requestEvacuation';
    case 'LiveMigrate':
      return canMigrate ? 'migrate' : 'refuse';
    case 'LiveMigrateIfPossible':
      return canMigrate ? 'migrate' : 'end';
    default:
      return 'end';
  }
}
