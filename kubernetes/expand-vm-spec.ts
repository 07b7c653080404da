import type { KubeClient } from './client.ts';

/**
 * Returns a VirtualMachine's spec with what its instance type and preference stand for now in their place. Throws
 * KubeError: also for a reference to what is not there, and without the right to `update` `expand-vm-spec` of
 * `subresources.kubevirt.io`.
 */
export async function expandVmSpec(client: KubeClient, namespace: string, spec: object): Promise<object> {
  const path = `/apis/subresources.kubevirt.io/v1/namespaces/${encodeURIComponent(namespace)}/expand-vm-spec`;
  const body = {
    apiVersion: 'kubevirt.io/v1',
    kind: 'VirtualMachine',
    metadata: { name: 'expanded', namespace },
    spec,
  };
  const { spec: expanded } = await client.request<{ spec: object }>({ method: 'PUT', path, body });
  return expanded;
}
