import { MACHINE_TYPE_TRANSITION_ANNOTATION } from '../../api/names.ts';
import { isObject } from '../lib/json.ts';
import type { TransitionRecord } from './transition.ts';

/**
 * Reads MACHINE_TYPE_TRANSITION_ANNOTATION from the annotations of a VM or a pool; null if it is absent, or not as
 * drover writes it.
 */
export function recordOf(annotations: Readonly<Record<string, string>> | undefined): TransitionRecord | null {
  const text = annotations?.[MACHINE_TYPE_TRANSITION_ANNOTATION];
  if (text === undefined) return null;
  const record = parsed(text);
  const { id, from, to, guest, guestUid, at } = isObject(record) ? record : {};
  const isWhole =
    [id, from, to, at].every((one) => typeof one === 'string') && (guest === null || typeof guest === 'string');
  const ofGuest = typeof guestUid === 'string' ? { guest, guestUid } : { guest };
  return isWhole ? ({ id, from, to, ...ofGuest, at } as TransitionRecord) : null;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
