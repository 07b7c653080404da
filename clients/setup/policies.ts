import { CLAIMS_POLICY } from '../../api/claims/policy.ts';
import { DEFINITIONS_POLICY } from '../../api/crd/keep-definitions.ts';
import { OPERATIONS_POLICY } from '../../api/operations/policy.ts';
import { CHECK_JOBS_POLICY } from '../../api/requests/check-jobs-policy.ts';
import { REQUESTS_POLICY } from '../../api/requests/policy.ts';
import { ValidatingAdmissionPolicies, ValidatingAdmissionPolicyBindings } from '../../api/resources.ts';
import { WORKER_POLICY } from '../../api/worker-policy.ts';

/** What the API server refuses to do, and what that means for one without such policies. */
export const ADMISSION_POLICIES = [
  DEFINITIONS_POLICY,
  OPERATIONS_POLICY,
  REQUESTS_POLICY,
  CHECK_JOBS_POLICY,
  CLAIMS_POLICY,
  WORKER_POLICY,
].flatMap(({ policy, binding, without }) => [
  { resource: ValidatingAdmissionPolicies, object: policy, without },
  { resource: ValidatingAdmissionPolicyBindings, object: binding, without },
]);
