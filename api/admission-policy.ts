import type { KubeObject } from './objects.ts';
import { VirtualMachineOperationSchedules } from './resources.ts';

/** A ValidatingAdmissionPolicy, and what puts it into force. */
interface AdmissionPolicy {
  policy: KubeObject;
  binding: KubeObject;
  /** What it means if the API server has no such policies. */
  without: string;
}

/** Kinds of a group, and what is done to their objects. */
interface Writes {
  group: string;
  resources: string[];
  operations: ('CREATE' | 'UPDATE' | 'DELETE')[];
}

interface Rules extends Pick<AdmissionPolicy, 'without'> {
  name: string;
  /** These writes ask the policy, if `objectSelector` matches the object, and all `conditions`, in CEL, are true. */
  writes: Writes[];
  objectSelector?: object;
  conditions?: Record<string, string>;
  /** In CEL. */
  variables?: { name: string; expression: string }[];
  validations: object[];
}

const SCHEDULES = VirtualMachineOperationSchedules;

/**
 * Whether the user of a request is a worker, in CEL: no other account may write the status of schedules. `namespace`:
 * that of the request, in CEL.
 */
export const isWorker = (namespace: string): string =>
  `authorizer.group('${SCHEDULES.group}').resource('${SCHEDULES.plural}').subresource('status').namespace(${namespace}).check('patch').allowed()`;

const API_VERSION = 'admissionregistration.k8s.io/v1';

/** Makes a policy that refuses writes, also if it can't be evaluated. */
export const admissionPolicy = ({
  name,
  writes,
  objectSelector,
  conditions,
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
        resourceRules: writes.map(({ group, ...rest }) => ({ apiGroups: [group], apiVersions: ['*'], ...rest })),
      },
      ...(conditions && {
        matchConditions: Object.entries(conditions).map(([condition, expression]) => ({ name: condition, expression })),
      }),
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
