import { CHANGES_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import { parsedObject } from '../../lib/json.ts';
import { anyText, object, oneOf, optional, readOrNull } from '../../lib/payload-reader.ts';

/**
 * What a change of a VM needs for its whole effect. `Nothing`: it has it at once. `Live`: KubeVirt applies it to the
 * running VMI. `Start`: the next VMI of the VM has it, and no condition says that this VMI waits for a restart.
 */
export type ChangeNeed = 'Nothing' | 'Live' | 'Start' | 'Restart';

/** The operation that changed a VM, and what the change needs. */
export interface RecordedChange {
  /** UID of the operation: a worker that continues it knows that this VM is done, even if a user has undone it. */
  id: string;
  /** Name of the operation. */
  operation: string;
  need: ChangeNeed;
  /** UID of the VMI that the operation is to restart for it; absent if it is to restart none. */
  vmi?: string;
  /** Values that a user had changed before an undo, in words; absent if there were none. */
  kept?: string;
}

export const RECORDED_CHANGE = object<RecordedChange>({
  id: anyText,
  operation: anyText,
  need: oneOf({ Nothing: true, Live: true, Start: true, Restart: true }),
  vmi: optional(anyText),
  kept: optional(anyText),
});

/** Reads of CHANGES_ANNOTATION what is kept of each VM, the newest first. */
export function recordedChanges(annotations: Readonly<Record<string, string>> | undefined): readonly RecordedChange[] {
  const records = parsedObject(annotations?.[CHANGES_ANNOTATION])?.['changes'];
  return Array.isArray(records) ? records.flatMap((record) => readOrNull(record, RECORDED_CHANGE) ?? []) : NONE;
}

const NONE: readonly RecordedChange[] = [];
