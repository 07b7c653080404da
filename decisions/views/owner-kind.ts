import { GROUP } from '../../api/labels-and-annotations.ts';
import type { OwnerReference } from '../../api/objects.ts';
import { isOwnerReferenceTo } from '../../api/owner-references.ts';
import {
  VirtualMachineInstanceReplicaSets,
  VirtualMachinePools,
  VirtualMachineReplicaSets,
} from '../../api/resources.ts';
import type { VmView } from './vm.ts';

const OWNER_RESOURCES = [VirtualMachinePools, VirtualMachineReplicaSets, VirtualMachineInstanceReplicaSets];

/** What views keep of the controller of an object. */
export const ownerOf = (owner: OwnerReference | undefined): VmView['owner'] =>
  owner === undefined ? null : { kind: kindOf(owner), name: owner.name, uid: owner.uid };

/**
 * Returns the kind of an owner, with its group if drover has a kind of the same name: KubeVirt's pools become
 * `VirtualMachinePool.pool.kubevirt.io`. An owner with a version of drover's that is not served is not one of its kinds
 * either: `VirtualMachinePool.v0.drover.dev`.
 */
export function kindOf(owner: Pick<OwnerReference, 'apiVersion' | 'kind'>): string {
  const { apiVersion, kind } = owner;
  if (
    OWNER_RESOURCES.every((resource) => resource.kind !== kind) ||
    OWNER_RESOURCES.some((resource) => isOwnerReferenceTo(owner, resource))
  )
    return kind;
  const [group = '', version = ''] = apiVersion.split('/');
  return group === GROUP ? `${kind}.${version}.${group}` : `${kind}.${group}`;
}
