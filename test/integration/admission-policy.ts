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
  /** In CEL: true where the API server has nothing against it. */
  expression: string;
  message: string;
  /** A call that is denied, as a dry run: policies take a moment to be in force. */
  tried: () => Promise<unknown>;
}

/** Denies what is to be done to VMs of a namespace, as a cluster's owner does; resolves once the API server does so. */
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
