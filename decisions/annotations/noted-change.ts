import { CHANGES_ANNOTATION } from '../../api/labels-and-annotations.ts';
import { isObject, parsedObject } from '../lib/json.ts';

/**
 * What a change of a VM needs for its whole effect. `Nothing`: it has it at once. `Live`: KubeVirt applies it to the
 * running VMI. `Start`: the next VMI of the VM has it, and no condition says that this VMI waits for a restart.
 */
export type ChangeNeed = 'Nothing' | 'Live' | 'Start' | 'Restart';

const NEEDS: readonly unknown[] = ['Nothing', 'Live', 'Start', 'Restart'] satisfies ChangeNeed[];

/** The operation that changed a VM, and what the change needs. */
export interface NotedChange {
  /** UID of the operation: a worker that continues it knows that this VM is done, even if a user has undone it. */
  id: string;
  /** Name of the operation. */
  operation: string;
  need: ChangeNeed;
  /** UID of the VMI that the operation is to restart for it; absent if it is to restart none. */
  vmi?: string;
  /** Of an undo: values that a user had changed since, in words; absent if there were none. */
  kept?: string;
}

/** Reads of CHANGES_ANNOTATION what is kept of each VM, the newest first. */
export function notedChanges(annotations: Readonly<Record<string, string>> | undefined): readonly NotedChange[] {
  const notes = parsedObject(annotations?.[CHANGES_ANNOTATION])?.['changes'];
  return Array.isArray(notes) ? notes.filter(isNoted).map(notedOf) : NONE;
}

const NONE: readonly NotedChange[] = [];

export const isNoted = (note: unknown): note is NotedChange =>
  isObject(note) &&
  [note['id'], note['operation']].every((text) => typeof text === 'string') &&
  [note['vmi'], note['kept']].every((text) => text === undefined || typeof text === 'string') &&
  NEEDS.includes(note['need']);

const notedOf = ({ id, operation, need, vmi, kept }: NotedChange): NotedChange => ({
  id,
  operation,
  need,
  ...(vmi !== undefined && { vmi }),
  ...(kept !== undefined && { kept }),
});
