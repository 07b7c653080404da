import { MEMBERSHIP_CHANGE_ANNOTATION } from '../../api/labels-and-annotations.ts';
import type { ObjectMeta } from '../../api/objects.ts';
import { anyText, flag, listOf, object, oneOf, readAnnotation, time } from '../lib/payload-reader.ts';
import type { Member } from '../owners/steps.ts';

/** What is being done to the members of a pool, as an annotation of the pool keeps it. */
export type MembershipChange = Begun & (WholeChange | ListedChange);

interface Begun {
  by: string;
  /** RFC 3339. */
  at: string;
}

/** All VMs of a KubeVirt pool come, or all go to one: the pool is held until the last has. */
interface WholeChange {
  kind: 'takeover' | 'release';
}

/** What a worker does because a user has asked for it: which VMs it has still found to be moved when it began. */
export interface ListedChange {
  kind: 'adopt';
  vms: Member[];
  /** Whether the pool is to want as many more VMs as it gets, from the end of the change on. */
  isCounted: boolean;
  /** Digest of the request. */
  request: string;
}

/** What a worker has found as it carried a request about members out. */
export interface MembersReport {
  /** Of the request. */
  digest: string;
  /** Names of the VMs that are where they were asked to be. */
  moved: string[];
  faults: { vm: string; message: string }[];
  /** Why a takeover or a release has not come to its end; absent if it has. */
  refused?: string;
  /** What else the user is told. */
  note?: string;
}

type ChangeKind = MembershipChange['kind'];

type Annotated = { metadata: { annotations?: Readonly<Record<string, string>> } };

/** Returns the change in progress; null if there is none, `unreadable` if the annotation isn't as drover writes it. */
export function membershipChangeOf({ metadata: { annotations } }: Annotated): MembershipChange | 'unreadable' | null {
  const text = annotations?.[MEMBERSHIP_CHANGE_ANNOTATION];
  if (text === undefined) return null;
  return readAnnotation(text, OF_ALL) ?? readAnnotation(text, OF_SOME) ?? 'unreadable';
}

/** How a change comes to its end, if a worker has not brought it there. */
const AGAIN: Record<ChangeKind, string> = {
  takeover: 'run `drover takeover vmpool NAME` again, or `drover release pool NAME` to go back',
  release: 'run `drover release pool NAME` again',
  adopt: 'a worker will finish it',
};

/** Says of a pool that another change of its members has not ended, and what ends it. */
export function unfinished(pool: string, change: MembershipChange | 'unreadable'): string {
  if (change === 'unreadable')
    return `pool ${pool}: its annotation ${MEMBERSHIP_CHANGE_ANNOTATION} can't be read: remove it`;
  const { kind, by, at } = change;
  return `pool ${pool}: a ${kind} that ${by} began at ${at} has not ended: ${howToGoOn(pool, kind)}`;
}

export const howToGoOn = (pool: string, kind: ChangeKind): string => AGAIN[kind].replaceAll('NAME', pool);

/** Returns the change in progress if a worker carries it out; null if there is none such. */
export function listedChangeOf(pool: Annotated): (MembershipChange & ListedChange) | null {
  const change = membershipChangeOf(pool);
  return change !== null && change !== 'unreadable' && isListed(change) ? change : null;
}

/** Reports whether all VMs of the pool are to go to a KubeVirt pool: what the pool had begun is finished first. */
export function isReleasing(pool: Annotated): boolean {
  const change = membershipChangeOf(pool);
  return change !== null && change !== 'unreadable' && change.kind === 'release';
}

export const isListed = (change: MembershipChange): change is MembershipChange & ListedChange =>
  change.kind === 'adopt';

/**
 * Reports whether the pool has come back from a backup since this change was begun. Which VMs had moved by then,
 * nothing tells.
 */
export const isOfEarlierPool = ({ at }: MembershipChange, { metadata }: { metadata: ObjectMeta }): boolean =>
  Date.parse(at) < Date.parse(metadata.creationTimestamp ?? '');

export const changeAnnotation = (change: MembershipChange): Record<string, string> => ({
  [MEMBERSHIP_CHANGE_ANNOTATION]: JSON.stringify(change),
});

const BEGUN = { by: anyText, at: time };
const OF_ALL = object<Begun & WholeChange>({ ...BEGUN, kind: oneOf({ takeover: true, release: true }) });
const OF_SOME = object<Begun & ListedChange>({
  ...BEGUN,
  kind: oneOf({ adopt: true }),
  vms: listOf(object<Member>({ name: anyText, uid: anyText }), Infinity),
  isCounted: flag,
  request: anyText,
});
