import { MACHINE_TYPE_TRANSITION_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import { anyText, object, optional, orNull, readAnnotation } from '../../lib/payload-reader.ts';

/**
 * The last transition that changed a VM or a pool, stored on it as an annotation in JSON; kept after the end of the
 * transition, for `undo` and `report`.
 */
export interface TransitionRecord {
  /** UID of the operation. */
  id: string;
  /** The operation, as users name it: the object may be gone by the time that a user asks. */
  by?: string;
  /**
   * Machine type in the spec, before and after; the same if only the VMI had the old type, through an alias. Empty if
   * the spec has no type.
   */
  from: string;
  to: string;
  /** Type of the VMI that ran then; null if none did. */
  vmiType: string | null;
  /** UID of that VMI. */
  vmiUid?: string;
  /** RFC 3339. */
  at: string;
}

const RECORD = object<TransitionRecord>({
  id: anyText,
  by: optional(anyText),
  from: anyText,
  to: anyText,
  vmiType: orNull(anyText),
  vmiUid: optional(anyText),
  at: anyText,
});

/**
 * Reads MACHINE_TYPE_TRANSITION_ANNOTATION from the annotations of a VM or a pool; null if it is absent, or not as
 * drover writes it.
 */
export const recordOf = (annotations: Readonly<Record<string, string>> | undefined): TransitionRecord | null =>
  readAnnotation(annotations?.[MACHINE_TYPE_TRANSITION_ANNOTATION], RECORD);

/** Reports whether the record is of the operation with this name, or this UID. */
export const isRecordOf = (record: TransitionRecord | null, operation: string): record is TransitionRecord =>
  record !== null && (record.by === operation || record.id === operation);

/** Reports whether a VMI is from before the change of its VM, or was started again with that old type. */
export const predatesChange = (current: string | null, { vmiType, to }: TransitionRecord): boolean =>
  vmiType !== null && vmiType !== to && current === vmiType;
