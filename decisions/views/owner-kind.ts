import { GROUP } from '../../api/names.ts';
import type { OwnerReference } from '../../api/objects.ts';
import {
  VirtualMachineInstanceReplicaSets,
  VirtualMachinePools,
  VirtualMachineReplicaSets,
} from '../../api/resources.ts';

const OURS = new Set(
  [VirtualMachinePools, VirtualMachineReplicaSets, VirtualMachineInstanceReplicaSets].map(({ kind }) => kind),
);

/**
 * Returns the kind of an owner. KubeVirt has pools and sets of instances, too: its pools become
 * `VirtualMachinePool.pool.kubevirt.io`, to tell them from drover's.
 */
export function kindOf({ apiVersion, kind }: Pick<OwnerReference, 'apiVersion' | 'kind'>): string {
  const [group = ''] = apiVersion.split('/');
  return OURS.has(kind) && group !== GROUP ? `${kind}.${group}` : kind;
}
