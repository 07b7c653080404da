import type { KubeObject } from './objects.ts';

/** A ValidatingAdmissionPolicy, and what puts it into force. */
interface AdmissionPolicy {
  policy: KubeObject;
  binding: KubeObject;
  /** What it means if the API server has no such policies. */
  without: string;
}

interface Rules extends Pick<AdmissionPolicy, 'without'> {
  name: string;
  /** Writes of these kinds ask the policy, if `objectSelector` matches the object. */
  group: string;
  resources: string[];
  operations: ('CREATE' | 'UPDATE' | 'DELETE')[];
  objectSelector?: object;
  /** In CEL. */
  variables?: { name: string; expression: string }[];
  validations: object[];
}

const API_VERSION = 'admissionregistration.k8s.io/v1';

/** Makes a policy that refuses writes, also if it can't be evaluated. */
export const admissionPolicy = ({
  name,
  group,
  resources,
  operations,
  objectSelector,
  variables,
  validations,
  without,
}: Rules): AdmissionPolicy => ({
  policy: {
    apiVersion: API_VERSION,
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name },
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: {
        ...(objectSelector && { objectSelector }),
        resourceRules: [{ apiGroups: [group], apiVersions: ['*'], operations, resources }],
      },
      ...(variables && { variables }),
      validations,
    },
  },
  binding: {
    apiVersion: API_VERSION,
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name },
    spec: { policyName: name, validationActions: ['Deny'] },
  },
  without,
});
