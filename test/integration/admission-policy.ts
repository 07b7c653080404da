import { expect } from 'vitest';
import type { KubeObject } from '../../api/objects.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { until } from './fleet.ts';

const group = { group: 'admissionregistration.k8s.io', version: 'v1', namespaced: false } as const;
const policies = { ...group, plural: 'validatingadmissionpolicies', kind: 'ValidatingAdmissionPolicy' };
const bindings = { ...group, plural: 'validatingadmissionpolicybindings', kind: 'ValidatingAdmissionPolicyBinding' };

interface Denial {
  namespace: string;
  operation: 'CREATE' | 'DELETE';
  /** In CEL: true if the request is allowed. */
  expression: string;
  message: string;
  /** A dry run that is to be denied: policies take a moment to come into force. */
  tried: () => Promise<unknown>;
}

/**
 * Denies an operation on the VMs of a namespace, as a cluster's owner would; resolves when the API server enforces it.
 */
export async function deny(kube: KubeClient, denial: Denial): Promise<void> {
  const { namespace, operation, expression, message, tried } = denial;
  const vms = { apiGroups: ['kubevirt.io'], apiVersions: ['*'], resources: ['virtualmachines'] };
  const namespaceSelector = { matchLabels: { 'kubernetes.io/metadata.name': namespace } };
  const metadata = { name: `deny-${namespace}` };
  const matchConstraints = { resourceRules: [{ ...vms, operations: [operation] }], namespaceSelector };
  const policy = { matchConstraints, validations: [{ expression, message }] };
  const binding = { policyName: metadata.name, validationActions: ['Deny'] };
  await kube.create<KubeObject>(policies, { metadata, spec: policy });
  await kube.create<KubeObject>(bindings, { metadata, spec: binding });
  await until(() => expect(tried()).rejects.toThrow(message));
}
