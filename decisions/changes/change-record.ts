import { CHANGES_ANNOTATION } from '../../api/labels-and-annotations.ts';
import { CAPS } from '../../api/lib/caps.ts';
import { isObject, parsedObject } from '../lib/json.ts';
import { readOrNull } from '../lib/payload-reader.ts';
import { RECORDED_CHANGE, type RecordedChange } from '../views/annotations/recorded-change.ts';
import type { Edit, Step } from './edits.ts';
import { whyNoChange } from './why-no-change.ts';

/** Noted on a VM with a change, in the same write: what was there before. */
export interface ChangeRecord extends RecordedChange {
  /** When (RFC 3339). */
  at: string;
  by: string;
  reason?: string;
  edits: Edit[];
}

/** How many bytes the changes of a VM may have in JSON: annotations are small. */
const MOST_BYTES = 32_768;

type Annotations = Readonly<Record<string, string>> | undefined;

/** Reads CHANGES_ANNOTATION, the newest first; what is not as drover writes it is left out. */
export function changesOf(annotations: Annotations): ChangeRecord[] {
  const records = parsedObject(annotations?.[CHANGES_ANNOTATION])?.['changes'];
  return Array.isArray(records) ? records.filter(isChangeRecord) : [];
}

const isChangeRecord = (record: unknown): record is ChangeRecord =>
  isObject(record) &&
  readOrNull(record, RECORDED_CHANGE) !== null &&
  [record['at'], record['by']].every((text) => typeof text === 'string') &&
  Array.isArray(record['edits']) &&
  record['edits'].every(isEdit);

/** Every client that may change the VM may write anything there: what no change may set, no undo sets either. */
const isEdit = (edit: unknown): edit is Edit =>
  isObject(edit) &&
  Array.isArray(edit['path']) &&
  edit['path'].every(isStep) &&
  whyNoChange(patchOf(edit['path'], edit['was'])) === null;

/** The patch that would set this one value. */
const patchOf = (path: readonly Step[], value: unknown): unknown =>
  path.reduceRight<unknown>((inner, step) => (typeof step === 'string' ? { [step]: inner } : [inner]), value ?? null);

const isStep = (step: unknown): step is Step =>
  typeof step === 'string' || (isObject(step) && typeof step['name'] === 'string');

/**
 * Returns CHANGES_ANNOTATION with one more change, for which the oldest are dropped; null if it is too long by itself,
 * so that it could not be undone.
 */
export function withChange(annotations: Annotations, record: ChangeRecord): string | null {
  const records = [record, ...changesOf(annotations)].slice(0, CAPS.changes);
  while (records.length > 1 && textOf(records).length > MOST_BYTES) records.pop();
  const text = textOf(records);
  return text.length > MOST_BYTES ? null : text;
}

const textOf = (changes: readonly ChangeRecord[]): string => JSON.stringify({ changes });
