import type { OwnerReference } from '../../api/objects.ts';

/** How KubeVirt names a VM as the controller of what it makes for it: VMIs, DataVolumes, ControllerRevisions. */
export const vmOwner = ({ name, uid }: { name: string; uid: string }): OwnerReference => ({
  apiVersion: 'kubevirt.io/v1',
  kind: 'VirtualMachine',
  name,
  uid,
  controller: true,
  blockOwnerDeletion: true,
});
