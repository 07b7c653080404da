import { POWER_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import {
  anyText,
  flag,
  number,
  object,
  optional,
  readAnnotation,
  readOrNull,
  type Reader,
} from '../../lib/payload-reader.ts';

/**
 * Noted on a VM before it is started, stopped, restarted or migrated: a worker that continues the operation learns from
 * it that this was done, even if a user has undone it since.
 */
export interface PowerRecord {
  /** What it is done for: the UID of an operation, or the ID of a machine type transition. */
  by: string;
  /** Which call of a transition's activity has acted: what it has reported is over for the next. */
  turn?: number;
  /** When, in milliseconds since the epoch. */
  since: number;
  /** How long the guest may take to shut down, in milliseconds; absent if no VMI is to end. */
  graceMs?: number;
  /** The VM should have run but was not ready. */
  wasDown?: true;
  /** UID of the VMI that the VM had; absent if it had none. */
  vmi?: string;
  /** Which pod the VMI had, and which migration of it by drover is begun: if it is migrated. */
  pod?: string;
  migration?: number;
  /** The VM's generation; `notReadySince` is the VM's, too. */
  generation: number;
  notReadySince: number | null;
}

const POWER_RECORD = object<PowerRecord>({
  by: anyText,
  turn: optional(number),
  since: number,
  graceMs: optional(number),
  wasDown: optional(flag as Reader<true>),
  vmi: optional(anyText),
  pod: optional(anyText),
  migration: optional(number),
  generation: number,
  notReadySince: (value) => readOrNull(value, number),
});

/** Reads POWER_ANNOTATION from the annotations of a VM; null if it is absent, or not as drover writes it. */
export const powerRecordOf = (annotations: Readonly<Record<string, string>> | undefined): PowerRecord | null =>
  readAnnotation(annotations?.[POWER_ANNOTATION], POWER_RECORD);
