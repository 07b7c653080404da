import type { OwnerReference } from '../../api/objects.ts';
import { VirtualMachinePools } from '../../api/resources.ts';

/**
 * Returns the kind of an owner. KubeVirt has pools too: theirs become `VirtualMachinePool.pool.kubevirt.io`, to tell
 * them from drover's.
 */
export function kindOf({ apiVersion, kind }: Pick<OwnerReference, 'apiVersion' | 'kind'>): string {
  const [group = ''] = apiVersion.split('/');
  return kind === VirtualMachinePools.kind && group !== VirtualMachinePools.group ? `${kind}.${group}` : kind;
}
