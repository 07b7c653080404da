import { PROTECT_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import { VirtualMachines } from '../../../api/resources.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';

/** Protects a VM from scale-in, or ends that, as `kubectl annotate` does. */
export const protect = (kube: Pick<KubeClient, 'patch'>, namespace: string, name: string, isProtected = true) =>
  kube.patch(VirtualMachines, { namespace, name }, 'merge', {
    metadata: { annotations: { [PROTECT_ANNOTATION]: isProtected ? 'true' : null } },
  });
