import type { OwnReference } from '../template/references.ts';

/** A time between two others, both of which are outside; milliseconds since the epoch. */
export interface Span {
  after: number;
  before: number;
}

/**
 * What is known of the content of a Secret or ConfigMap: when it changed, and nothing of what it holds. All times are
 * whole seconds of the API server's clock, in milliseconds since the epoch.
 */
export interface Content extends OwnReference {
  /** When somebody who has written some of its content last wrote to it: its labels, perhaps. */
  writtenAt: number;
  /** When its content last changed. */
  changedAt: number;
  /** Earlier times when its content was what it is now. */
  same: readonly Span[];
}

/**
 * Reports whether a VMI that was created at this time may have started with other content. Within the second of the
 * change, nobody knows.
 */
export const isOlder = (createdAt: number, { changedAt, same }: Pick<Content, 'changedAt' | 'same'>): boolean =>
  createdAt <= changedAt && !same.some(({ after, before }) => after < createdAt && createdAt < before);

/** Reports whether more is known than what the API server notes of each write. */
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
 * Returns when the second of the change is over, in milliseconds since the epoch: a VMI that starts before would have to restart once
 * more. Null if it is over, or lies so far ahead that clocks differ.
 */
export const settlesAt = ({ at }: ContentChange, now: number): number | null =>
  Math.abs(now - at) <= SECOND_MS ? at + SECOND_MS + 1 : null;

/** Returns the later of two changes: of several at once, the first by name. */
export function laterChange(one: ContentChange | null, other: ContentChange | null): ContentChange | null {
  if (one === null || other === null) return one ?? other;
  if (one.at !== other.at) return one.at > other.at ? one : other;
  return one.what < other.what ? one : other;
}
