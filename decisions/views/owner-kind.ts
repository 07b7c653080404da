import type { OwnerReference } from '../../api/objects.ts';
import { VirtualMachinePools } from '../../api/resources.ts';

/**
 * The kind of an owner. Another group has pools too: one of its is `VirtualMachinePool.pool.kubevirt.io`, and nothing
 * of drover's.
 */
export function kindOf({ apiVersion, kind }: Pick<OwnerReference, 'apiVersion' | 'kind'>): string {
  const [group = ''] = apiVersion.split('/');
  return kind === VirtualMachinePools.kind && group !== VirtualMachinePools.group ? `${kind}.${group}` : kind;
}
