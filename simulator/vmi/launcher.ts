import type { Stored } from '../../api/objects.ts';
import type { Pod, VirtualMachineInstance } from '../objects/kubevirt.ts';

/** KubeVirt's labels and its annotation of the pod that runs a VMI. */
export const LAUNCHER = {
  label: 'kubevirt.io',
  value: 'virt-launcher',
  uid: 'kubevirt.io/created-by',
  vmi: 'kubevirt.io/domain',
} as const;

/** The pod of a VMI, as far as those who evict it look at it. */
export function launcherOf({ metadata }: Stored<VirtualMachineInstance>, node: string): Pod {
  const { namespace, name, uid, labels } = metadata;
  return {
    metadata: {
      namespace: namespace!,
      name: `virt-launcher-${name}-${uid.slice(0, 5)}`,
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
