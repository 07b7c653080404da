import { claimsBinding, claimsPolicy } from '../../api/claims/policy.ts';
import { definitionsBinding, definitionsPolicy } from '../../api/crd/keep-definitions.ts';
import { operationsBinding, operationsPolicy } from '../../api/operations/policy.ts';
import { checkJobsBinding, checkJobsPolicy } from '../../api/requests/check-jobs-policy.ts';
import { requestsBinding, requestsPolicy } from '../../api/requests/policy.ts';
import { ValidatingAdmissionPolicies, ValidatingAdmissionPolicyBindings } from '../../api/resources.ts';

/** What the API server refuses to do, and what that means for one without such policies. */
export const ADMISSION_POLICIES = [
  {
    policy: definitionsPolicy(),
    binding: definitionsBinding(),
    without: "nothing protects drover's custom resources from deletion",
  },
  {
    policy: operationsPolicy(),
    binding: operationsBinding(),
    without: 'any user who may make operations can have drover restart, start and stop VMs',
  },
  {
    policy: requestsPolicy(),
    binding: requestsBinding(),
    without: 'requests on pools may name any user as their author',
  },
  {
    policy: checkJobsPolicy(),
    binding: checkJobsBinding(),
    without: 'any user who may write pools can have drover run Jobs, if the worker has the right to',
  },
  {
    policy: claimsPolicy(),
    binding: claimsBinding(),
    without: 'every user who may write Leases decides which workers serve a namespace',
  },
].flatMap(({ policy, binding, without }) => [
  { resource: ValidatingAdmissionPolicies, object: policy, without },
  { resource: ValidatingAdmissionPolicyBindings, object: binding, without },
]);
