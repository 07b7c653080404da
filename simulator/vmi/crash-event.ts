import type { Stored } from '../../api/objects.ts';
import { apiVersionOf, VirtualMachineInstances } from '../../api/resources.ts';
import { timestamp } from '../objects/conditions.ts';
import type { VirtualMachineInstance, Vmi } from '../objects/kubevirt.ts';
import { isDeleting, phaseOf } from '../objects/vmi.ts';

/**
 * Returns the Event that virt-handler records when a guest has failed by itself (`recordPhaseChangeEvent` in KubeVirt);
 * null otherwise. virt-controller, which finds that a pod is gone, records none, nor the time of the transition.
 */
export function crashEvent(before: Vmi, after: Stored<VirtualMachineInstance>, now: number) {
  const entered = after.status?.phaseTransitionTimestamps?.at(-1)?.phase;
  if (phaseOf(before) === 'Failed' || entered !== 'Failed' || isDeleting(after)) return null;
  const { namespace = '', name, uid } = after.metadata;
  return {
    metadata: { namespace, name: `${name}.${uid}` },
    involvedObject: {
      apiVersion: apiVersionOf(VirtualMachineInstances),
      kind: VirtualMachineInstances.kind,
      namespace,
      name,
      uid,
    },
    type: 'Warning',
    reason: 'Stopped',
    message: 'The VirtualMachineInstance crashed.',
    source: { component: 'virt-handler', host: after.status?.nodeName },
    reportingComponent: 'virt-handler',
    firstTimestamp: timestamp(now),
    lastTimestamp: timestamp(now),
    count: 1,
  };
}
