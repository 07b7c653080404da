import { MEMBERSHIP_CHANGE_ANNOTATION } from '../../api/names.ts';
import { isObject } from '../lib/json.ts';

/** A VM that a change is about. */
export interface ChangedVm {
  name: string;
  uid: string;
}

/** What a command is doing to the members of a pool, as an annotation of the pool keeps it. */
export type MembershipChange = { by: string; at: string } & (
  | {
      kind: 'takeover' | 'release';
      /** UID of the pool of KubeVirt; null until it is made. */ kubevirtUid: string | null;
    }
  | { kind: 'adopt' | 'detach'; vms: ChangedVm[]; /** How much replicas was changed for these VMs. */ replicas: number }
);

export type ChangeKind = MembershipChange['kind'];

type Annotated = { metadata: { annotations?: Readonly<Record<string, string>> } };

/** Returns the change in progress; null if there is none, `unreadable` if the annotation isn't as drover writes it. */
export function membershipChangeOf({ metadata: { annotations } }: Annotated): MembershipChange | 'unreadable' | null {
  const text = annotations?.[MEMBERSHIP_CHANGE_ANNOTATION];
  if (text === undefined) return null;
  const change = parsed(text);
  return isChange(change) ? change : 'unreadable';
}

/** The annotation of a pool whose members change so. */
export const changeAnnotation = (change: MembershipChange): Record<string, string> => ({
  [MEMBERSHIP_CHANGE_ANNOTATION]: JSON.stringify(change),
});

function isChange(value: unknown): value is MembershipChange {
  if (!isObject(value) || typeof value['by'] !== 'string' || typeof value['at'] !== 'string') return false;
  const { kind, kubevirtUid, vms, replicas } = value;
  if (kind === 'takeover' || kind === 'release') return kubevirtUid === null || typeof kubevirtUid === 'string';
  return (
    (kind === 'adopt' || kind === 'detach') && Number.isSafeInteger(replicas) && Array.isArray(vms) && vms.every(isVm)
  );
}

const isVm = (value: unknown): value is ChangedVm =>
  isObject(value) && typeof value['name'] === 'string' && typeof value['uid'] === 'string';

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
