import { DELETE_PROTECTION_LABEL, PROTECT_ANNOTATION } from '../../../api/labels-and-annotations.ts';

interface Marks {
  labels?: Readonly<Record<string, string>> | undefined;
  annotations?: Readonly<Record<string, string>> | undefined;
}

/** Reports whether a VM is not to leave its pool by scale-in. */
export const isProtected = (marks: Marks): boolean => isAnnotated(marks) || isUndeletable(marks);

/** A mistyped value protects as well: a VM that stays is noticed, while a lost VM can't be brought back. */
const isAnnotated = ({ annotations }: Marks): boolean => (annotations?.[PROTECT_ANNOTATION] ?? 'false') !== 'false';

/** Reports whether KubeVirt's delete protection has the API server refuse any deletion of the VM. */
export const isUndeletable = ({ labels }: Marks): boolean =>
  ['true', 'True'].includes(labels?.[DELETE_PROTECTION_LABEL] ?? '');

/** How a user ends the protection of this VM, as words of a message. */
export const endOfProtection = (name: string, marks: Marks): string =>
  [
    ...(isAnnotated(marks) ? [`\`drover unprotect ${name}\``] : []),
    ...(isUndeletable(marks) ? [`\`kubectl label vm ${name} ${DELETE_PROTECTION_LABEL}-\``] : []),
  ].join(' and ');
