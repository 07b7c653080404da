import { admissionPolicy } from '../admission-policy.ts';
import {
  GROUP,
  HEALING_REQUEST_ANNOTATION,
  HEALING_REQUESTED_BY_ANNOTATION,
  MEMBERSHIP_REQUEST_ANNOTATION,
  MEMBERSHIP_REQUESTED_BY_ANNOTATION,
  ROLLOUT_REQUEST_ANNOTATION,
  ROLLOUT_REQUESTED_BY_ANNOTATION,
} from '../labels-and-annotations.ts';
import { KubeVirtPools, VirtualMachinePools, VirtualMachines, type Resource } from '../resources.ts';
import { HANDOVER_REQUEST } from './handover.ts';

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

/** An expression for each right: the API server bounds what one may cost, and three questions are too many. */
const needs = (unless: string, verb: string, { group, plural }: Resource): object => ({
  expression: `${unless} || authorizer.group('${group}').resource('${plural}').namespace(request.namespace).check('${verb}').allowed()`,
  messageExpression: `request.userInfo.username + ' may not change the members of a pool: that takes the right to ${verb} ${plural} of ${group} in namespace ' + request.namespace`,
  reason: 'Forbidden',
});

/** The same, for one who may not do to VMs and pools of the namespace what the request has a worker do. */
const needsRights = (request: string): object[] => {
  const isOld = `${valueIn('now', request)} == '' || ${valueIn('now', request)} == ${valueIn('before', request)}`;
  const isListed = `${isOld} || !${valueIn('now', request)}.matches(r'${HANDOVER_REQUEST}')`;
  return [
    needs(isOld, 'patch', VirtualMachines),
    ...['create', 'patch', 'delete'].map((verb) => needs(isListed, verb, KubeVirtPools)),
    needs(isListed, 'delete', VirtualMachinePools),
  ];
};

/**
 * The policy that makes a user's request on a pool say who made it. A pool that is created may bring one along, as a
 * restored pool does: no worker carries that out.
 */
export const REQUESTS_POLICY = admissionPolicy({
  name: `requested-by.${GROUP}`,
  group: GROUP,
  resources: [VirtualMachinePools.plural],
  operations: ['UPDATE'],
  variables: [
    { name: 'now', expression: annotationsOf('object') },
    { name: 'before', expression: annotationsOf('oldObject') },
  ],
  validations: [
    validation(ROLLOUT_REQUEST_ANNOTATION, ROLLOUT_REQUESTED_BY_ANNOTATION),
    validation(HEALING_REQUEST_ANNOTATION, HEALING_REQUESTED_BY_ANNOTATION),
    validation(MEMBERSHIP_REQUEST_ANNOTATION, MEMBERSHIP_REQUESTED_BY_ANNOTATION),
    ...needsRights(MEMBERSHIP_REQUEST_ANNOTATION),
  ],
  without: 'requests on pools may name any user as their author',
});
