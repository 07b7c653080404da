import { isObject, parsedObject } from '../lib/json.ts';
import { whyNoChange } from './check.ts';
import type { Edit, Step } from './edits.ts';

/** Noted on a VM with a change, in the same write: what was there before. */
export interface ChangeNote {
  /** Of the change: the same on all of its VMs. */
  id: string;
  /** When (RFC 3339). */
  at: string;
  by: string;
  reason?: string;
  /** Null if they were too long to be noted. */
  edits: Edit[] | null;
}

/** How many changes a VM tells of, and how many bytes they may have in JSON: annotations are small. */
const MOST = 5;
const MOST_BYTES = 32_768;

/** Reads CHANGES_ANNOTATION, the newest first; what is not as drover writes it is left out. */
export function changesOf(annotation: string | undefined): ChangeNote[] {
  const notes = parsedObject(annotation)?.['changes'];
  return Array.isArray(notes) ? notes.filter(isNote) : [];
}

const isNote = (note: unknown): note is ChangeNote =>
  isObject(note) &&
  [note['id'], note['at'], note['by']].every((text) => typeof text === 'string') &&
  (note['edits'] === null || (Array.isArray(note['edits']) && note['edits'].every(isEdit)));

/** Whoever may change the VM may write anything there: what no change may set, no undo sets either. */
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

/** Returns the annotation with one more change; the oldest make room for it. */
export function withChange(annotation: string | undefined, note: ChangeNote): string {
  const isTooLong = JSON.stringify(note).length > MOST_BYTES;
  const notes = [isTooLong ? { ...note, edits: null } : note, ...changesOf(annotation)].slice(0, MOST);
  while (notes.length > 1 && textOf(notes).length > MOST_BYTES) notes.pop();
  return textOf(notes);
}

/** Returns the annotation without this change; null if it tells of no other. */
export function withoutChange(annotation: string | undefined, id: string): string | null {
  const notes = changesOf(annotation).filter((note) => note.id !== id);
  return notes.length === 0 ? null : textOf(notes);
}

const textOf = (changes: readonly ChangeNote[]): string => JSON.stringify({ changes });
