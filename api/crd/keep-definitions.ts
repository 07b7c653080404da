import { CONFIRM_DELETION_ANNOTATION, GROUP } from '../names.ts';
import type { KubeObject } from '../objects.ts';

const NAME = `keep-definitions.${GROUP}`;
/** Null in the call about a whole collection, whose objects follow one by one. */
const EXPRESSION =
  `oldObject == null || oldObject.spec.group != '${GROUP}' || ` +
  `(has(oldObject.metadata.annotations) && '${CONFIRM_DELETION_ANNOTATION}' in oldObject.metadata.annotations)`;
const MESSAGE =
  'deleting this definition would delete all objects of its kind, and with pools and sets their VMs and disks: docs/deploy.md says how to remove drover. To delete it all the same, annotate it first with ' +
  CONFIRM_DELETION_ANNOTATION;

/** The policy by which the API server keeps drover's custom resources when everything of drover is deleted. */
export const definitionsPolicy = (): KubeObject => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingAdmissionPolicy',
  metadata: { name: NAME },
  spec: {
    failurePolicy: 'Fail',
    matchConstraints: {
      resourceRules: [
        {
          apiGroups: ['apiextensions.k8s.io'],
          apiVersions: ['*'],
          operations: ['DELETE'],
          resources: ['customresourcedefinitions'],
        },
      ],
    },
    validations: [{ expression: EXPRESSION, message: MESSAGE, reason: 'Forbidden' }],
  },
});

/** What puts the policy into force. */
export const definitionsBinding = (): KubeObject => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingAdmissionPolicyBinding',
  metadata: { name: NAME },
  spec: { policyName: NAME, validationActions: ['Deny'] },
});
