import type { OwnerReference } from '../../api/objects.ts';

/** Returns KubeVirt's owner reference on a VM's VMIs, DataVolumes and ControllerRevisions: the VM is the controller. */
export const vmOwner = ({ name, uid }: { name: string; uid: string }): OwnerReference => ({
  apiVersion: 'kubevirt.io/v1',
  kind: 'VirtualMachine',
  name,
  uid,
  controller: true,
  blockOwnerDeletion: true,
});
