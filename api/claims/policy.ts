import { admissionPolicy } from '../admission-policy.ts';
import { GROUP } from '../labels-and-annotations.ts';
import { Leases, VirtualMachinePools } from '../resources.ts';
import { CLAIM_LABEL } from './claim.ts';

/**
 * The verb, on pools, for users who may say which workers serve a namespace: no request uses it, so it comes with no
 * other right.
 */
export const CLAIM_VERB = 'claim';

const { group, plural } = VirtualMachinePools;

/**
 * The policy by which the API server lets only users with the right to just that leave a namespace to its own
 * workers, or take it back: users with the role `edit` may write Leases. When a namespace is deleted, so is its claim.
 */
export const CLAIMS_POLICY = admissionPolicy({
  name: `claims.${GROUP}`,
  writes: [{ group: Leases.group, resources: [Leases.plural], operations: ['CREATE', 'UPDATE', 'DELETE'] }],
  // No other Lease waits for the policy: the heartbeats of nodes are Leases.
  objectSelector: { matchExpressions: [{ key: CLAIM_LABEL, operator: 'Exists' }] },
  validations: [
    {
      expression: `(request.operation == 'DELETE' && has(namespaceObject.metadata.deletionTimestamp)) || authorizer.group('${group}').resource('${plural}').namespace(request.namespace).check('${CLAIM_VERB}').allowed()`,
      messageExpression: `request.userInfo.username + ' may not say which workers of drover serve namespace ' + request.namespace + ': that takes the right to ${CLAIM_VERB} ${plural} of ${group} there'`,
      reason: 'Forbidden',
    },
  ],
  without: 'every user who may write Leases decides which workers serve a namespace',
});
