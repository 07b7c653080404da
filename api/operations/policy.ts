import { admissionPolicy, isWorker } from '../admission-policy.ts';
import { GROUP, REQUESTED_BY_ANNOTATION } from '../labels-and-annotations.ts';
import { requesterInCel } from '../requested-by.ts';
import {
  ClusterVirtualMachineDisruptionBudgets,
  ClusterVirtualMachineOperations,
  VirtualMachineDisruptionBudgets,
  VirtualMachineOperations,
  VirtualMachineOperationSchedules,
} from '../resources.ts';

/**
 * The API server asks for each name up to this many. A question costs 350,000, one expression may cost a million, and
 * all of a policy ten million: k8s.io/apiserver's `apis/cel/config.go` and `cel/library/cost.go`.
 */
const MAX_NAMES_CHECKED = 20;
/** The same if two rights are asked for. */
const MAX_NAMES_CHECKED_TWICE = 12;
const NAMES_AN_EXPRESSION = 2;

/** What each action does to a VM; but for `patch`, also the subresource of KubeVirt by which `virtctl` does it. */
const DOES = `{'Restart': 'restart', 'Start': 'start', 'Stop': 'stop', 'Migrate': 'migrate', 'Patch': 'patch', 'MachineType': 'patch'}[variables.spec.action]`;
const subresource = (name: string): string =>
  `authorizer.group('subresources.kubevirt.io').resource('virtualmachines').subresource(${name}).namespace(variables.within)`;
const VMS = `authorizer.group('kubevirt.io').resource('virtualmachines').namespace(variables.within)`;
/** The right that an action needs, the same as for doing it by hand: the resource, and the verb. */
const RESOURCE = `(variables.does == 'patch' ? ${VMS} : ${subresource('variables.does')})`;
const VERB = `(variables.does == 'patch' ? 'patch' : 'update')`;
const isTrue = (object: string, field: string): string => `(has(${object}.spec.${field}) && ${object}.spec.${field})`;
/** Whether a user lets continue what was held back. */
const isResumed = (field: string): string => `(${isTrue('oldObject', field)} && !${isTrue('object', field)})`;

/** Whether a field of the parameters of an action is there, and true. */
const isParameterTrue = (action: string, field: string): string =>
  `(has(variables.spec.${action}) && has(variables.spec.${action}.${field}) && variables.spec.${action}.${field})`;
/** What restarts VMs beside what it is for. */
const ALSO_RESTARTS = `(${isParameterTrue('patch', 'restart')} || ${isParameterTrue('machineType', 'restart')})`;

/**
 * Whether the requester may have VMs of these namespaces disrupted whatever any budget says: one of the namespace, or a
 * cluster-wide one.
 */
const MAY_OVERRIDE = [
  `resource('${VirtualMachineDisruptionBudgets.plural}').namespace(variables.within)`,
  `resource('${ClusterVirtualMachineDisruptionBudgets.plural}')`,
].map((budgets) => `authorizer.group('${GROUP}').${budgets}.check('override').allowed()`);

const SCHEDULE = VirtualMachineOperationSchedules;
/** What of a schedule says which operations are made, and when. Anybody who may change it may suspend it. */
const SCHEDULING_FIELDS = [
  'schedule',
  'timeZone',
  'startingDeadlineSeconds',
  'concurrencyPolicy',
  'requestedBy',
  'operationTemplate',
].map((field) => `object.spec.?${field} == oldObject.spec.?${field}`);
const isOfSchedule = (object: string): string =>
  `${object}.metadata.?ownerReferences.orValue([]).exists(owner, owner.kind == '${SCHEDULE.kind}')`;

/** Who says that they have paused, resumed or aborted an operation. */
const requesterIn = (object: string): string =>
  `${object}.metadata.?annotations[?'${REQUESTED_BY_ANNOTATION}'].orValue('')`;

interface Right {
  /** What is asked for, and the verb. */
  resource: string;
  verb: string;
}

/** Whether the requester has the right to the next names from this one on; true beyond their end. */
const hasEach = ({ resource, verb }: Right, first: number): string =>
  Array.from({ length: NAMES_AN_EXPRESSION }, (_, index) => first + index)
    .map(
      (position) =>
        `(size(variables.spec.vms.names) <= ${position} || ${resource}.name(variables.spec.vms.names[${position}]).check(${verb}).allowed())`,
    )
    .join(' && ');

/** Requires the right: on each named VM if they are few, else on all. `unless`: when no right is needed. */
const requires = (
  right: Right,
  { unless, most, refusal: refused }: { unless: string; most: number; refusal: (which: string) => object },
): object[] => [
  {
    expression: `${unless} || variables.named || ${right.resource}.check(${right.verb}).allowed()`,
    ...refused("' all VMs of ' + variables.scope"),
  },
  ...Array.from({ length: most / NAMES_AN_EXPRESSION }, (_, index) => ({
    expression: `${unless} || !variables.named || (${hasEach(right, index * NAMES_AN_EXPRESSION)})`,
    ...refused("' each of these VMs in ' + variables.scope"),
  })),
];

/** `which`: which VMs, in CEL. */
const refusal = (which: string) => ({
  messageExpression: `request.userInfo.username + ' may not ' + variables.does + ${which} + ': that takes the right to ' + (variables.does == 'patch' ? 'patch virtualmachines of kubevirt.io' : 'update virtualmachines/' + variables.does + ' of subresources.kubevirt.io')`,
  reason: 'Forbidden',
});

const refusalToRestart = (which: string) => ({
  messageExpression: `request.userInfo.username + ' may not restart' + ${which} + ': to restart VMs, too, takes the right to update virtualmachines/restart of subresources.kubevirt.io'`,
  reason: 'Forbidden',
});

/**
 * The policy by which the API server lets users have drover do only what they may do themselves: a user who makes an
 * operation or a schedule of operations, changes a schedule, or continues one that was paused or suspended, must be
 * allowed the same on the VMs that it names, or in the whole namespace; and to override disruption budgets, if the
 * operation does. For a cluster-wide operation, in all
 * namespaces, whichever it selects: labels of namespaces change. The operations of a schedule are made by a worker, the
 * only account that may write the status of schedules, in the name of the user who requested the schedule.
 */
export const OPERATIONS_POLICY = admissionPolicy({
  name: `operations.${GROUP}`,
  writes: [
    {
      group: GROUP,
      resources: [VirtualMachineOperations.plural, ClusterVirtualMachineOperations.plural, SCHEDULE.plural],
      operations: ['CREATE', 'UPDATE'],
    },
  ],
  variables: [
    { name: 'isSchedule', expression: `request.resource.resource == '${SCHEDULE.plural}'` },
    { name: 'spec', expression: 'variables.isSchedule ? dyn(object).spec.operationTemplate.spec : object.spec' },
    // The authorizer takes an empty namespace for all of them. A cluster-wide object is requested without one.
    { name: 'within', expression: "has(request.namespace) ? request.namespace : ''" },
    {
      name: 'byWorker',
      expression: `!variables.isSchedule && oldObject == null && ${isOfSchedule('object')} && ${isWorker('variables.within')}`,
    },
    {
      name: 'isNew',
      expression: `oldObject == null || (variables.isSchedule && !(${SCHEDULING_FIELDS.join(' && ')}))`,
    },
    {
      name: 'begins',
      expression: `!variables.byWorker && (variables.isNew || ${isResumed('paused')} || ${isResumed('suspend')})`,
    },
    { name: 'does', expression: DOES },
    {
      name: 'scope',
      expression: "variables.within == '' ? 'all namespaces' : 'namespace ' + variables.within",
    },
    { name: 'alsoRestarts', expression: ALSO_RESTARTS },
    { name: 'requester', expression: requesterIn('object') },
    {
      name: 'named',
      expression: `has(variables.spec.vms.names) && size(variables.spec.vms.names) <= (variables.alsoRestarts ? ${MAX_NAMES_CHECKED_TWICE} : ${MAX_NAMES_CHECKED})`,
    },
  ],
  validations: [
    ...requires({ resource: RESOURCE, verb: VERB }, { unless: '!variables.begins', most: MAX_NAMES_CHECKED, refusal }),
    ...requires(
      { resource: subresource("'restart'"), verb: "'update'" },
      {
        unless: '!variables.begins || !variables.alsoRestarts',
        most: MAX_NAMES_CHECKED_TWICE,
        refusal: refusalToRestart,
      },
    ),
    {
      expression: `!variables.begins || !${isTrue('object', 'pastBudgets')} || (${MAY_OVERRIDE.join(' && ')})`,
      messageExpression: `request.userInfo.username + ' may not disrupt VMs past the disruption budgets of ' + variables.scope + ': that takes the right to override ${VirtualMachineDisruptionBudgets.plural} and ${ClusterVirtualMachineDisruptionBudgets.plural} of ${GROUP}'`,
      reason: 'Forbidden',
    },
    {
      expression:
        'variables.byWorker || !variables.isNew || !has(object.spec.requestedBy) || object.spec.requestedBy == request.userInfo.username',
      messageExpression:
        "'spec.requestedBy must be ' + request.userInfo.username + ', who makes ' + (variables.isSchedule ? 'or changes the schedule' : 'the operation') + ', or be left out'",
      reason: 'Invalid',
    },
    {
      expression: `variables.isSchedule || variables.requester == '' || (oldObject != null && variables.requester == ${requesterIn('oldObject')}) || (variables.requester.contains(' ') && ${requesterInCel('variables.requester')} == request.userInfo.username)`,
      messageExpression: `'the annotation ${REQUESTED_BY_ANNOTATION} must be ' + request.userInfo.username + ', who changes the operation, and its generation'`,
      reason: 'Invalid',
    },
    {
      expression: `variables.isSchedule || variables.byWorker || !${isOfSchedule('object')} || (oldObject != null && ${isOfSchedule('oldObject')})`,
      message: `only a worker of drover makes operations of a schedule: leave the owner reference to ${SCHEDULE.kind} out`,
      reason: 'Forbidden',
    },
  ],
  without: 'any user who may make operations can have drover restart, start and stop VMs, also past disruption budgets',
});
