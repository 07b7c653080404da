import { MEMBERSHIP_CHANGE_ANNOTATION } from '../../api/labels-and-annotations.ts';
import { anyText, object, oneOf, readAnnotation, time } from '../lib/payload-reader.ts';

/**
 * What is being done to the members of a pool, as an annotation of the pool keeps it: all VMs of a KubeVirt pool come,
 * or all go to one. The pool is held until the last has.
 */
export interface MembershipChange {
  kind: 'takeover' | 'release';
  by: string;
  /** RFC 3339. */
  at: string;
}

/** What a worker has found as it carried a request about members out. */
export interface MembersReport {
  /** Digest of the request. */
  digest: string;
  /** Names of the VMs that are where they were asked to be. */
  moved: string[];
  /** Why the request has not come to its end; absent if it has. */
  refused?: string;
  /** What else the user is told. */
  note?: string;
}

type Annotated = { metadata: { annotations?: Readonly<Record<string, string>> } };

/** Returns the change in progress; null if there is none, `unreadable` if the annotation isn't as drover writes it. */
export function membershipChangeOf({ metadata: { annotations } }: Annotated): MembershipChange | 'unreadable' | null {
  const text = annotations?.[MEMBERSHIP_CHANGE_ANNOTATION];
  return text === undefined ? null : (readAnnotation(text, CHANGE) ?? 'unreadable');
}

/** How a change comes to its end, if a worker has not brought it there. */
const AGAIN: Record<MembershipChange['kind'], string> = {
  takeover: 'run `drover takeover vmpool NAME` again, or `drover release pool NAME` to go back',
  release: 'run `drover release pool NAME` again',
};

/** Says of a pool that another change of its members has not ended, and what ends it. */
export function unfinished(pool: string, change: MembershipChange | 'unreadable'): string {
  if (change === 'unreadable')
    return `pool ${pool}: its annotation ${MEMBERSHIP_CHANGE_ANNOTATION} can't be read: remove it`;
  const { kind, by, at } = change;
  return `pool ${pool}: a ${kind} that ${by} began at ${at} has not ended: ${howToContinue(pool, kind)}`;
}

export const howToContinue = (pool: string, kind: MembershipChange['kind']): string =>
  AGAIN[kind].replaceAll('NAME', pool);

/** Reports whether all VMs of the pool are to go to a KubeVirt pool: what the pool had begun is finished first. */
export function isReleasing(pool: Annotated): boolean {
  const change = membershipChangeOf(pool);
  return change !== null && change !== 'unreadable' && change.kind === 'release';
}

export const changeAnnotation = (change: MembershipChange): Record<string, string> => ({
  [MEMBERSHIP_CHANGE_ANNOTATION]: JSON.stringify(change),
});

const CHANGE = object<MembershipChange>({
  by: anyText,
  at: time,
  kind: oneOf({ takeover: true, release: true }),
});
