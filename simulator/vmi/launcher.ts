import { randomUUID } from 'node:crypto';
import type { Stored } from '../../api/objects.ts';
import type { Pod, VirtualMachineInstance } from '../objects/kubevirt.ts';

/** KubeVirt's labels and its annotation of the pod that runs a VMI. */
export const LAUNCHER = {
  label: 'kubevirt.io',
  value: 'virt-launcher',
  uid: 'kubevirt.io/created-by',
  vmi: 'kubevirt.io/domain',
} as const;

/** Returns a new pod for a VMI, as far as evictions look at it. Its name is its own, as with KubeVirt. */
export function launcherOf({ metadata }: Stored<VirtualMachineInstance>, node: string): Pod {
  const { namespace, name, uid, labels } = metadata;
  return {
    metadata: {
      namespace: namespace!,
      name: `virt-launcher-${name}-${randomUUID().slice(0, 5)}`,
      labels: { ...labels, [LAUNCHER.label]: LAUNCHER.value, [LAUNCHER.uid]: uid },
      annotations: { [LAUNCHER.vmi]: name },
    },
    spec: {
      nodeName: node,
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 0,
      containers: [{ name: 'compute', image: 'virt-launcher' }],
    },
  };
}
