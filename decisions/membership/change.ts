import { MEMBERSHIP_CHANGE_ANNOTATION } from '../../api/names.ts';
import { isObject } from '../lib/json.ts';

/** A VM that a change is about. */
export interface ChangedVm {
  name: string;
  uid: string;
}

/** What a command is doing to the members of a pool, as an annotation of the pool keeps it. */
export type MembershipChange = { by: string; /** RFC 3339. */ at: string } & (
  | {
      kind: 'takeover' | 'release';
      /** UID of the pool of KubeVirt; null until it is made. */ kubevirtUid: string | null;
    }
  | ListedChange
);

/** A change that says which VMs it is about: whoever reads it knows what has been done, and what is left. */
export interface ListedChange {
  kind: 'adopt' | 'detach';
  vms: ChangedVm[];
  /** How much `spec.replicas` was changed for these VMs. */
  replicas: number;
  /** RFC 3339: when the command last reported that it works. Absent until it first does. */
  reportedAt?: string;
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

/** Reports whether two readings are of one change: it may have reported since. */
export const isSameChange = (one: MembershipChange, other: MembershipChange | 'unreadable' | null): boolean =>
  other !== null && other !== 'unreadable' && one.kind === other.kind && one.by === other.by && one.at === other.at;

export const isListed = (change: MembershipChange): change is MembershipChange & ListedChange =>
  change.kind === 'adopt' || change.kind === 'detach';

/**
 * Returns what must be added to `spec.replicas` when the change ends: VMs that have not moved were counted as if they
 * had. `isMember`: whether the VM is the pool's.
 */
export function correctionOf({ kind, vms, replicas }: ListedChange, isMember: (vm: ChangedVm) => boolean): number {
  if (replicas === 0) return 0;
  return kind === 'adopt' ? -vms.filter((vm) => !isMember(vm)).length : vms.filter(isMember).length;
}

/** The annotation of a pool whose members change so. */
export const changeAnnotation = (change: MembershipChange): Record<string, string> => ({
  [MEMBERSHIP_CHANGE_ANNOTATION]: JSON.stringify(change),
});

function isChange(value: unknown): value is MembershipChange {
  if (!isObject(value) || typeof value['by'] !== 'string' || !isTime(value['at'])) return false;
  const { kind, kubevirtUid, vms, replicas, reportedAt } = value;
  if (kind === 'takeover' || kind === 'release') return kubevirtUid === null || typeof kubevirtUid === 'string';
  return (
    (kind === 'adopt' || kind === 'detach') &&
    Number.isSafeInteger(replicas) &&
    Array.isArray(vms) &&
    vms.every(isVm) &&
    (reportedAt === undefined || isTime(reportedAt))
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
