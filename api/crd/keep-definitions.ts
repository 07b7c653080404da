import { admissionPolicy } from '../admission-policy.ts';
import { CONFIRM_DELETION_ANNOTATION, GROUP, RELEASE_ANNOTATION } from '../labels-and-annotations.ts';

/** The call about a whole collection has no old object; its objects follow one by one. */
const MAY_GO =
  `object != null || oldObject == null || oldObject.spec.group != '${GROUP}' || ` +
  `(has(oldObject.metadata.annotations) && '${CONFIRM_DELETION_ANNOTATION}' in oldObject.metadata.annotations)`;
const WOULD_GO =
  'deleting this definition would delete all objects of its kind, and with pools and sets their VMs and disks: docs/deploy.md says how to remove drover. To delete it all the same, annotate it first with ' +
  CONFIRM_DELETION_ANNOTATION;

/** The three numbers of the release that an object says it is of; '' if it says none. */
const releaseOf = (object: string): string =>
  `${object} == null ? '' : ${object}.metadata.?annotations[?'${RELEASE_ANNOTATION}'].orValue('').find('^[0-9]+[.][0-9]+[.][0-9]+')`;
const numbersOf = (release: string): string => `variables.${release}.split('.').map(number, int(number))`;

const VARIABLES = [
  { name: 'before', expression: releaseOf('oldObject') },
  { name: 'after', expression: releaseOf('object') },
  { name: 'old', expression: numbersOf('before') },
  { name: 'new', expression: numbersOf('after') },
];
const IS_NO_OLDER =
  `object == null || oldObject == null || object.spec.group != '${GROUP}' || ` +
  "variables.before == '' || variables.after == '' || (" +
  [0, 1]
    .map((at) => `variables.new[${at}] != variables.old[${at}] ? variables.new[${at}] > variables.old[${at}] : `)
    .join('') +
  'variables.new[2] >= variables.old[2])';
const WOULD_BE_OLDER = `'this definition is of drover ' + variables.before + ', and that of ' + variables.after + ' would remove from all objects the fields that it does not know. To go back all the same, first remove the annotation ${RELEASE_ANNOTATION} from it'`;

/**
 * The policy by which the API server keeps drover's custom resources when everything of drover is deleted, or when
 * manifests of an older release are applied.
 */
export const DEFINITIONS_POLICY = admissionPolicy({
  name: `keep-definitions.${GROUP}`,
  writes: [
    {
      group: 'apiextensions.k8s.io',
      resources: ['customresourcedefinitions'],
      operations: ['DELETE', 'UPDATE'],
    },
  ],
  variables: VARIABLES,
  validations: [
    { expression: MAY_GO, message: WOULD_GO, reason: 'Forbidden' },
    { expression: IS_NO_OLDER, messageExpression: WOULD_BE_OLDER, reason: 'Forbidden' },
  ],
  without: "nothing protects drover's custom resources from deletion",
});
