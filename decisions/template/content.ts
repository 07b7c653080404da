import type { OwnReference } from './references.ts';

/** A time between two others, both of which are outside; milliseconds since the epoch. */
export interface Span {
  after: number;
  before: number;
}

/**
 * When the content of a Secret or ConfigMap changed, but not the content itself. All times are whole seconds of the API
 * server's clock, in milliseconds since the epoch.
 */
export interface Content extends OwnReference {
  /** The last write by a field manager that owns some of its content; it may have changed only labels. */
  writtenAt: number;
  /** When its content last changed. */
  changedAt: number;
  /** Earlier times when its content was what it is now. */
  same: readonly Span[];
}

/**
 * Reports whether a VMI that was created at this time may have started with other content. Within the second of the
 * change, that is unknown.
 */
export const isOlder = (createdAt: number, { changedAt, same }: Pick<Content, 'changedAt' | 'same'>): boolean =>
  createdAt <= changedAt && !same.some(({ after, before }) => after < createdAt && createdAt < before);

/** Reports whether this says more than the API server's managed fields do. */
export const isJudged = ({ writtenAt, changedAt, same }: Content): boolean =>
  changedAt !== writtenAt || same.length > 0;

/** A change of content, of which VMs that run should have started after it. */
export interface ContentChange {
  /** The kind and name of what has changed. */
  what: string;
  /** Milliseconds since the epoch. */
  at: number;
}

const SECOND_MS = 1_000;

/**
 * Returns when the second of the change is over, in milliseconds since the epoch: a VMI that starts before would have
 * to restart once more. Null if it is over, or lies so far ahead that clocks differ.
 */
export const settlesAt = ({ at }: ContentChange, now: number): number | null =>
  Math.abs(now - at) <= SECOND_MS ? at + SECOND_MS + 1 : null;

/** Returns the later of two changes: of several at once, the first by name. */
export function laterChange(a: ContentChange | null, b: ContentChange | null): ContentChange | null {
  if (a === null || b === null) return a ?? b;
  if (a.at !== b.at) return a.at > b.at ? a : b;
  return a.what < b.what ? a : b;
}
