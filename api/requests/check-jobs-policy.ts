import { admissionPolicy } from '../admission-policy.ts';
import { GROUP } from '../labels-and-annotations.ts';
import { Jobs, VirtualMachinePools } from '../resources.ts';

/** The steps of a pool, as a variable of the policy. */
const stepsOf = (pool: string): string =>
  `${pool} != null && has(${pool}.spec.rollout) && has(${pool}.spec.rollout.steps) ? ${pool}.spec.rollout.steps : []`;
const MAY_CREATE = `authorizer.group('${Jobs.group}').resource('${Jobs.plural}').namespace(request.namespace).check('create').allowed()`;

/**
 * The policy that lets only users who may create Jobs have a worker create them for the check of a step: a Job runs
 * pods under any account of its namespace.
 */
export const CHECK_JOBS_POLICY = admissionPolicy({
  name: `check-jobs.${GROUP}`,
  writes: [{ group: GROUP, resources: [VirtualMachinePools.plural], operations: ['CREATE', 'UPDATE'] }],
  variables: [
    { name: 'now', expression: stepsOf('object') },
    { name: 'before', expression: stepsOf('oldObject') },
    { name: 'jobs', expression: `variables.now.exists(step, has(step.then.check) && has(step.then.check.job))` },
  ],
  validations: [
    {
      expression: `!variables.jobs || variables.now == variables.before || ${MAY_CREATE}`,
      messageExpression: `request.userInfo.username + ' may not have checks run Jobs: that takes the right to create ${Jobs.plural} of ${Jobs.group} in namespace ' + request.namespace`,
      reason: 'Forbidden',
    },
  ],
  without: 'any user who may write pools can have drover run Jobs, if the worker has the right to',
});
