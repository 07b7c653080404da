import {
  GROUP,
  HEALING_REQUEST_ANNOTATION,
  HEALING_REQUESTED_BY_ANNOTATION,
  MEMBERSHIP_REQUEST_ANNOTATION,
  MEMBERSHIP_REQUESTED_BY_ANNOTATION,
  ROLLOUT_REQUEST_ANNOTATION,
  ROLLOUT_REQUESTED_BY_ANNOTATION,
} from '../names.ts';
import type { KubeObject } from '../objects.ts';
import { VirtualMachinePools, VirtualMachines } from '../resources.ts';

const REQUESTS_POLICY = `requested-by.${GROUP}`;

/** The annotations of an object, as a variable of the policy; oldObject may have none. */
const annotationsOf = (object: string): string =>
  `has(${object}.metadata.annotations) ? ${object}.metadata.annotations : {}`;
const valueIn = (annotations: string, name: string): string =>
  `('${name}' in variables.${annotations} ? variables.${annotations}['${name}'] : '')`;

/** A request that is made, changed, or given another author names the user who does that. */
const validation = (request: string, requestedBy: string): object => ({
  expression: [
    `${valueIn('now', request)} == ''`,
    `(${valueIn('now', request)} == ${valueIn('before', request)} && ` +
      `${valueIn('now', requestedBy)} == ${valueIn('before', requestedBy)})`,
    `${valueIn('now', requestedBy)} == request.userInfo.username`,
  ].join(' || '),
  messageExpression: `'the annotation ${requestedBy} must be ' + request.userInfo.username + ', who makes the request'`,
  reason: 'Invalid',
});

/** The same, for one who may not do to the VMs of the namespace what the request has a worker do. */
const mayPatchVms = (request: string): object => ({
  expression: [
    `${valueIn('now', request)} == ''`,
    `${valueIn('now', request)} == ${valueIn('before', request)}`,
    `authorizer.group('${VirtualMachines.group}').resource('${VirtualMachines.plural}').namespace(request.namespace).check('patch').allowed()`,
  ].join(' || '),
  messageExpression: `request.userInfo.username + ' may not change who is in a pool: that takes the right to patch ${VirtualMachines.plural} of ${VirtualMachines.group} in namespace ' + request.namespace`,
  reason: 'Forbidden',
});

/**
 * The policy by which a request of a person on a pool says who makes it. A pool that is created may bring one along, as
 * one that is restored does: no worker carries that out.
 */
export const requestsPolicy = (): KubeObject => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingAdmissionPolicy',
  metadata: { name: REQUESTS_POLICY },
  spec: {
    failurePolicy: 'Fail',
    matchConstraints: {
      resourceRules: [
        { apiGroups: [GROUP], apiVersions: ['*'], operations: ['UPDATE'], resources: [VirtualMachinePools.plural] },
      ],
    },
    variables: [
      { name: 'now', expression: annotationsOf('object') },
      { name: 'before', expression: annotationsOf('oldObject') },
    ],
    validations: [
      validation(ROLLOUT_REQUEST_ANNOTATION, ROLLOUT_REQUESTED_BY_ANNOTATION),
      validation(HEALING_REQUEST_ANNOTATION, HEALING_REQUESTED_BY_ANNOTATION),
      validation(MEMBERSHIP_REQUEST_ANNOTATION, MEMBERSHIP_REQUESTED_BY_ANNOTATION),
      mayPatchVms(MEMBERSHIP_REQUEST_ANNOTATION),
    ],
  },
});

/** What puts the policy into force. */
export const requestsBinding = (): KubeObject => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingAdmissionPolicyBinding',
  metadata: { name: REQUESTS_POLICY },
  spec: { policyName: REQUESTS_POLICY, validationActions: ['Deny'] },
});
