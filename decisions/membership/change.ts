import { MEMBERSHIP_CHANGE_ANNOTATION } from '../../api/names.ts';
import type { ObjectMeta } from '../../api/objects.ts';
import { isObject } from '../lib/json.ts';

/** A VM that a change is about. */
export interface ChangedVm {
  name: string;
  uid: string;
}

/** What is being done to the members of a pool, as an annotation of the pool keeps it. */
export type MembershipChange = { by: string; /** RFC 3339. */ at: string } & (
  | {
      kind: 'takeover' | 'release';
      /** UID of the pool of KubeVirt; null until it is made. */ kubevirtUid: string | null;
    }
  | ListedChange
);

/** What a worker does because somebody has asked for it: which VMs it has still found to be moved when it began. */
export interface ListedChange {
  kind: 'adopt' | 'detach';
  vms: ChangedVm[];
  /** Whether the pool is to want as many more VMs as it gets, or fewer as it loses, from the end of the change on. */
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
  faults: { vm: string; why: string }[];
}

export type ChangeKind = MembershipChange['kind'];

type Annotated = { metadata: { annotations?: Readonly<Record<string, string>> } };

/** Returns the change in progress; null if there is none, `unreadable` if the annotation isn't as drover writes it. */
export function membershipChangeOf({ metadata: { annotations } }: Annotated): MembershipChange | 'unreadable' | null {
  const text = annotations?.[MEMBERSHIP_CHANGE_ANNOTATION];
  if (text === undefined) return null;
  const change = parsed(text);
  return isChange(change) ? change : 'unreadable';
}

/** Reports whether two readings are of one change. */
export const isSameChange = (one: MembershipChange, other: MembershipChange | 'unreadable' | null): boolean =>
  other !== null && other !== 'unreadable' && one.kind === other.kind && one.by === other.by && one.at === other.at;

/** Returns the change in progress if a worker carries it out; null if there is none such. */
export function listedChangeOf(pool: Annotated): (MembershipChange & ListedChange) | null {
  const change = membershipChangeOf(pool);
  return change !== null && change !== 'unreadable' && isListed(change) ? change : null;
}

export const isListed = (change: MembershipChange): change is MembershipChange & ListedChange =>
  change.kind === 'adopt' || change.kind === 'detach';

/**
 * Reports whether the pool has come back from a backup since this change was begun. Which VMs had moved by then,
 * nothing tells.
 */
export const isOfEarlierPool = ({ at }: MembershipChange, { metadata }: { metadata: ObjectMeta }): boolean =>
  Date.parse(at) < Date.parse(metadata.creationTimestamp ?? '');

/** The annotation of a pool whose members change so. */
export const changeAnnotation = (change: MembershipChange): Record<string, string> => ({
  [MEMBERSHIP_CHANGE_ANNOTATION]: JSON.stringify(change),
});

function isChange(value: unknown): value is MembershipChange {
  if (!isObject(value) || typeof value['by'] !== 'string' || !isTime(value['at'])) return false;
  const { kind, kubevirtUid, vms, isCounted, request } = value;
  if (kind === 'takeover' || kind === 'release') return kubevirtUid === null || typeof kubevirtUid === 'string';
  return (
    (kind === 'adopt' || kind === 'detach') &&
    typeof isCounted === 'boolean' &&
    typeof request === 'string' &&
    Array.isArray(vms) &&
    vms.every(isVm)
  );
}

const isTime = (value: unknown): boolean => typeof value === 'string' && !Number.isNaN(Date.parse(value));

const isVm = (value: unknown): value is ChangedVm =>
  isObject(value) && typeof value['name'] === 'string' && typeof value['uid'] === 'string';

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
