import { admissionPolicy, isWorker } from '../admission-policy.ts';
import {
  ADOPT_VMS_ANNOTATION,
  GROUP,
  HEALING_REQUEST_ANNOTATION,
  HEALING_REQUESTED_BY_ANNOTATION,
  MEMBERSHIP_REQUEST_ANNOTATION,
  MEMBERSHIP_REQUESTED_BY_ANNOTATION,
  REQUESTED_BY_ANNOTATION,
  ROLLOUT_REQUEST_ANNOTATION,
  ROLLOUT_REQUESTED_BY_ANNOTATION,
} from '../labels-and-annotations.ts';
import { requesterInCel } from '../requested-by.ts';
import { KubeVirtPools, VirtualMachinePools, VirtualMachines, type Resource } from '../resources.ts';
import { HANDOVER_REQUEST } from './handover.ts';

/** The annotations of an object, as a variable of the policy. */
const annotationsOf = (object: string): string =>
  `${object} != null && has(${object}.metadata.annotations) ? ${object}.metadata.annotations : {}`;
const valueIn = (annotations: string, name: string): string =>
  `('${name}' in variables.${annotations} ? variables.${annotations}['${name}'] : '')`;

const USERNAME = 'request.userInfo.username';
/** Whether the user may act in the name of another, as one who restores a backup may. */
const mayBe = (name: string): string =>
  `authorizer.group('').resource('users').name(${name}).check('impersonate').allowed()`;

/** A request that is made, changed, or given another author names the user who does that. */
const validation = (request: string, requestedBy: string): object => ({
  expression: [
    `${valueIn('now', request)} == ''`,
    `(${valueIn('now', request)} == ${valueIn('before', request)} && ` +
      `${valueIn('now', requestedBy)} == ${valueIn('before', requestedBy)})`,
    `${valueIn('now', requestedBy)} == ${USERNAME}`,
    `(oldObject == null && ${mayBe(valueIn('now', requestedBy))})`,
  ].join(' || '),
  messageExpression: `'the annotation ${requestedBy} must be ' + ${USERNAME} + ', who makes the request'`,
  reason: 'Invalid',
});

const TEMPLATE_REQUESTER = requesterInCel('variables.requester');
const ofTemplate: object = {
  expression: [
    `variables.requester == '' || variables.requester == ${valueIn('before', REQUESTED_BY_ANNOTATION)}`,
    `(variables.requester.contains(' ') && (${TEMPLATE_REQUESTER} == ${USERNAME} || ${mayBe(TEMPLATE_REQUESTER)}))`,
    isWorker('request.namespace'),
  ].join(' || '),
  messageExpression: `'the annotation ${REQUESTED_BY_ANNOTATION} must be ' + ${USERNAME} + ' and the revision of the template'`,
  reason: 'Invalid',
};

/** An expression for each right: the API server bounds what one may cost, and three questions are too many. */
const needs = (unless: string, verb: string, { group, plural }: Resource): object => ({
  expression: `${unless} || authorizer.group('${group}').resource('${plural}').namespace(request.namespace).check('${verb}').allowed()`,
  messageExpression: `request.userInfo.username + ' may not change the members of a pool: that takes the right to ${verb} ${plural} of ${group} in namespace ' + request.namespace`,
  reason: 'Forbidden',
});

/** Whether an annotation asks for nothing that it did not ask for before, in CEL. */
const isOld = (annotation: string): string =>
  `${valueIn('now', annotation)} == '' || ${valueIn('now', annotation)} == ${valueIn('before', annotation)}`;

/** The same, for one who may not do to VMs and pools of the namespace what the request has a worker do. */
const needsRights = (request: string): object[] => {
  const unless = `${isOld(request)} || !${valueIn('now', request)}.matches(r'${HANDOVER_REQUEST}')`;
  return [
    needs(unless, 'patch', VirtualMachines),
    ...['create', 'patch', 'delete'].map((verb) => needs(unless, verb, KubeVirtPools)),
    needs(unless, 'delete', VirtualMachinePools),
  ];
};

/** A VM that a pool adopts may be deleted by it, in a scale-in. */
const needsForAdoption = ['patch', 'delete'].map((verb) => needs(isOld(ADOPT_VMS_ANNOTATION), verb, VirtualMachines));

/**
 * The policy that makes a user's request on a pool, and its template, say who asked for them. No worker carries out a
 * request that a pool was created with; it takes the same rights all the same.
 */
export const REQUESTS_POLICY = admissionPolicy({
  name: `requested-by.${GROUP}`,
  writes: [{ group: GROUP, resources: [VirtualMachinePools.plural], operations: ['CREATE', 'UPDATE'] }],
  variables: [
    { name: 'now', expression: annotationsOf('object') },
    { name: 'before', expression: annotationsOf('oldObject') },
    { name: 'requester', expression: valueIn('now', REQUESTED_BY_ANNOTATION) },
  ],
  validations: [
    validation(ROLLOUT_REQUEST_ANNOTATION, ROLLOUT_REQUESTED_BY_ANNOTATION),
    validation(HEALING_REQUEST_ANNOTATION, HEALING_REQUESTED_BY_ANNOTATION),
    validation(MEMBERSHIP_REQUEST_ANNOTATION, MEMBERSHIP_REQUESTED_BY_ANNOTATION),
    ...needsRights(MEMBERSHIP_REQUEST_ANNOTATION),
    ...needsForAdoption,
    ofTemplate,
  ],
  without: 'requests on pools may name any user as their author, and whoever may change a pool may have it adopt VMs',
});
