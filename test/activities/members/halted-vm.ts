import type { PoolKey } from '../../../activities/owners/owner-key.ts';
import type { NewMember } from '../../../decisions/template/vm-from-template.ts';
import { haltedTemplate } from '../../integration/fleet.ts';

/** Returns a VM that the pool controls and that does not run. */
export const haltedVm = ({ namespace, ...owner }: PoolKey, name: string): NewMember => ({
  apiVersion: 'kubevirt.io/v1',
  kind: 'VirtualMachine',
  metadata: {
    namespace,
    name,
    labels: {},
    ownerReferences: [
      {
        apiVersion: 'drover.dev/v1alpha1',
        kind: 'VirtualMachinePool',
        ...owner,
        controller: true,
        blockOwnerDeletion: true,
      },
    ],
  },
  spec: haltedTemplate.spec,
});
