import { GROUP } from '../names.ts';
import type { KubeObject } from '../objects.ts';
import { VirtualMachineOperations } from '../resources.ts';

export const OPERATIONS_POLICY = `operations.${GROUP}`;

/** The API server asks for each name up to this many: the cost of its questions is limited. */
const MOST_NAMES_ASKED = 20;

/** The right that each action takes, as `virtctl` takes it: to update this subresource of the VM. */
const SUBRESOURCE = `{'Restart': 'restart', 'Start': 'start', 'Stop': 'stop'}[object.spec.action]`;
const ASKED = `authorizer.group('subresources.kubevirt.io').resource('virtualmachines').subresource(variables.verb).namespace(request.namespace)`;
const isPaused = (object: string): string => `(has(${object}.spec.paused) && ${object}.spec.paused)`;

/**
 * The policy by which the API server lets nobody have drover do what he may not do himself: whoever makes an operation,
 * or lets one go on that was paused, must be allowed the same on the VMs that it names, or on all of the namespace.
 */
export const operationsPolicy = (): KubeObject => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingAdmissionPolicy',
  metadata: { name: OPERATIONS_POLICY },
  spec: {
    failurePolicy: 'Fail',
    matchConstraints: {
      resourceRules: [
        {
          apiGroups: [GROUP],
          apiVersions: ['*'],
          operations: ['CREATE', 'UPDATE'],
          resources: [VirtualMachineOperations.plural],
        },
      ],
    },
    variables: [
      { name: 'begins', expression: `oldObject == null || (${isPaused('oldObject')} && !${isPaused('object')})` },
      { name: 'verb', expression: SUBRESOURCE },
      {
        name: 'named',
        expression: `has(object.spec.vms.names) && size(object.spec.vms.names) <= ${MOST_NAMES_ASKED}`,
      },
    ],
    validations: [
      {
        expression:
          `!variables.begins || (variables.named ? object.spec.vms.names.all(name, ${ASKED}.name(name).check('update').allowed()) : ` +
          `${ASKED}.check('update').allowed())`,
        messageExpression:
          "request.userInfo.username + ' may not ' + variables.verb + (variables.named ? ' each of these VMs' : ' all VMs of namespace ' + request.namespace) + " +
          "': that takes the right to update virtualmachines/' + variables.verb + ' of subresources.kubevirt.io'",
        reason: 'Forbidden',
      },
      {
        expression:
          'oldObject != null || !has(object.spec.requestedBy) || object.spec.requestedBy == request.userInfo.username',
        messageExpression:
          "'spec.requestedBy must be ' + request.userInfo.username + ', who makes the operation, or be left out'",
        reason: 'Invalid',
      },
    ],
  },
});

/** What puts the policy into force. */
export const operationsBinding = (): KubeObject => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingAdmissionPolicyBinding',
  metadata: { name: OPERATIONS_POLICY },
  spec: { policyName: OPERATIONS_POLICY, validationActions: ['Deny'] },
});
