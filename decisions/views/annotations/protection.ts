import {
  DELETE_PROTECTION_LABEL,
  DO_NOT_DISRUPT_ANNOTATION,
  PROTECT_ANNOTATION,
} from '../../../api/labels-and-annotations.ts';
import { durationMs, isDuration } from '../../../api/lib/duration.ts';
import { isRfc3339 } from '../../lib/time.ts';

interface Marks {
  labels?: Readonly<Record<string, string>> | undefined;
  annotations?: Readonly<Record<string, string>> | undefined;
  managedFields?: readonly unknown[] | undefined;
}

/** The annotations by which users keep drover off a VM, by what the VM's view calls that. */
const ANNOTATIONS = { optedOut: DO_NOT_DISRUPT_ANNOTATION, protected: PROTECT_ANNOTATION };

type Protection = keyof typeof ANNOTATIONS;

/** What a VM's view has of them. */
export interface Protections {
  /** A user has protected it from scale-in, or from any deletion. */
  protected: boolean;
  /** Its owner opted out of disruption by annotation. */
  optedOut: boolean;
  /** When that ends by itself, in milliseconds since the epoch; null if it does not. */
  protectedUntil: number | null;
  optedOutUntil: number | null;
}

/** What the API server records about the writer of fields. */
interface ManagedFields {
  time?: string;
  fieldsV1?: { 'f:metadata'?: { 'f:annotations'?: Record<string, unknown> } };
}

/** Reports whether a VM is not to leave its pool by scale-in. `now`: milliseconds since the epoch. */
export const isProtected = (marks: Marks, now: number): boolean =>
  isAnnotated('protected', marks, now) || isUndeletable(marks);

/** Reports whether the owner of a VM opted out of disruption. `now`: milliseconds since the epoch. */
export const isOptedOut = (marks: Marks, now: number): boolean => isAnnotated('optedOut', marks, now);

const isAnnotated = (protection: Protection, marks: Marks, now: number): boolean =>
  (annotatedUntil(protection, marks) ?? 0) > now;

/**
 * Returns until when the annotation protects the VM, in milliseconds since the epoch; null if it does not. A time ends
 * it, and a duration since the annotation was written. Any other value but "false" protects without an end: a VM that
 * stays is noticed, while one that a mistyped value has lost can't be brought back.
 */
function annotatedUntil(protection: Protection, { annotations, managedFields }: Marks): number | null {
  const value = annotations?.[ANNOTATIONS[protection]] ?? 'false';
  if (value === 'false') return null;
  if (isRfc3339(value)) return Date.parse(value);
  return isDuration(value) ? writtenAt(ANNOTATIONS[protection], managedFields) + durationMs(value) : Infinity;
}

/** Writers of several fields may have written this one earlier: the protection is then longer. */
function writtenAt(annotation: string, managedFields: readonly unknown[] = []): number {
  const writers = (managedFields as ManagedFields[]).filter(
    ({ fieldsV1 }) => fieldsV1?.['f:metadata']?.['f:annotations']?.[`f:${annotation}`] !== undefined,
  );
  return writers.length === 0 ? Infinity : Math.max(...writers.map(({ time }) => Date.parse(time ?? '') || Infinity));
}

/** Returns the fields of the VM's view, as if no protection had ended yet. */
export function protectionsOf(marks: Marks): Protections {
  const optedOut = annotatedUntil('optedOut', marks);
  const scaleIn = isUndeletable(marks) ? Infinity : annotatedUntil('protected', marks);
  return {
    optedOut: optedOut !== null,
    optedOutUntil: optedOut === Infinity ? null : optedOut,
    protected: scaleIn !== null,
    protectedUntil: scaleIn === Infinity ? null : scaleIn,
  };
}

/** Returns the view of a VM at this time, without protections that have ended. */
export function withoutEnded<V extends Protections>(vm: V, now: number): V {
  const isOver = (until: number | null): boolean => until !== null && until <= now;
  const { optedOutUntil, protectedUntil } = vm;
  if (!isOver(optedOutUntil) && !isOver(protectedUntil)) return vm;
  return {
    ...vm,
    ...(isOver(optedOutUntil) ? { optedOut: false, optedOutUntil: null } : {}),
    ...(isOver(protectedUntil) ? { protected: false, protectedUntil: null } : {}),
  };
}

/** Reports whether KubeVirt's delete protection has the API server refuse any deletion of the VM. */
const isUndeletable = ({ labels }: Marks): boolean =>
  ['true', 'True'].includes(labels?.[DELETE_PROTECTION_LABEL] ?? '');

/** How a user ends the protection of this VM, as words of a message. */
export const endOfProtection = (name: string, marks: Marks): string =>
  [
    ...(annotatedUntil('protected', marks) !== null ? [`\`kubectl annotate vm ${name} ${PROTECT_ANNOTATION}-\``] : []),
    ...(isUndeletable(marks) ? [`\`kubectl label vm ${name} ${DELETE_PROTECTION_LABEL}-\``] : []),
  ].join(' and ');
