import { OWNER_KINDS, type SetKind } from '../../api/owner-kinds.ts';
import { matchesLabels } from '../../api/rules/label-selector.ts';
import { canonical } from '../../decisions/lib/canonical-json.ts';
import { isReplicaName } from '../../decisions/replica-sets/names.ts';
import { overlaps } from '../../decisions/replica-sets/overlaps.ts';
import type { StoredSet } from '../../decisions/views/owner.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { looksTheSame } from '../cache/looks-the-same.ts';
import type { ObjectChange } from '../cache/objects/cache-change.ts';
import { ownerName } from '../owners/owner-key.ts';
import {
  distinct,
  VMI_FIELDS_OF_TRANSITIONS,
  VM_FIELDS_OF_TRANSITIONS,
  ownerFingerprint,
  vmOf,
} from './affected-pools.ts';

type Caches = Pick<ClusterCache, 'replicaSets' | 'vmiSets' | 'vms' | 'vmisByNode'>;

/** What decides which set a VM or VMI belongs to. */
interface Membership {
  namespace: string;
  name: string;
  owner: VmView['owner'];
  /** Null for one that can be no member of the sets in question, and may have a name of theirs all the same. */
  labels: Readonly<Record<string, string>> | null;
}

/** A set's selector reads the VM's own labels. */
const UNREAD = new Set([...VM_FIELDS_OF_TRANSITIONS].filter((field) => field !== 'ownLabels'));

/**
 * Returns the sets of a kind, by `namespace/name`, that a change concerns; none if nothing changed that a decision
 * reads.
 */
export function affectedSets(kind: SetKind, change: ObjectChange, cache: Caches): string[] {
  const { noun, cache: list } = OWNER_KINDS[kind];
  // Most clusters have none, and each change of a VM asks.
  return cache[list].size === 0 && change.kind !== noun ? [] : setsAmongAll(kind, change, cache);
}

function setsAmongAll(kind: SetKind, change: ObjectChange, cache: Caches): string[] {
  const { noun, members, cache: list } = OWNER_KINDS[kind];
  const ofVmi = (vmi: VmiView | undefined): Membership | undefined =>
    members.cache === 'vmis' ? ofLoneVmi(vmi) : ofVm(vmi && vmOf(vmi, cache), kind);
  const concerned = (before: Membership | undefined, after: Membership | undefined): string[] => {
    const sets: StoredSet[] = [...cache[list].values()];
    return distinct([
      ...[before, after].flatMap((one) => setsOf(one, kind, sets)),
      ...setsInCommon(before, after, sets),
    ]);
  };
  switch (change.kind) {
    case 'replica set':
    case 'VMI replica set': {
      const { before, after } = change;
      if (change.kind !== noun || ownerFingerprint(before) === ownerFingerprint(after)) return [];
      // The statuses of those whose selectors overlap say so.
      const beside = [...cache[list].values()].filter((set) =>
        [before, after].some((one) => one !== undefined && overlaps(one, set)),
      );
      return distinct([ownerName((after ?? before)!), ...beside.map(ownerName)]);
    }
    case 'vm': {
      const { before, after } = change;
      return looksTheSame(before, after, UNREAD) ? [] : concerned(ofVm(before, kind), ofVm(after, kind));
    }
    case 'vmi': {
      const { before, after } = change;
      return looksTheSame(before, after, VMI_FIELDS_OF_TRANSITIONS) ? [] : concerned(ofVmi(before), ofVmi(after));
    }
    case 'node':
      return distinct(
        cache.vmisByNode.of((change.after ?? change.before)!.name).flatMap((vmi) => {
          const member = ofVmi(vmi);
          return concerned(member, member);
        }),
      );
    case 'pool':
    case 'operation':
    case 'schedule':
    case 'budget':
    case 'migration':
    case 'disk':
    case 'content':
    case 'strategy':
      return [];
  }
}

/** To a set of VMIs, a VM takes a name: its VMI would have that. */
function ofVm(vm: VmView | undefined, kind: SetKind): Membership | undefined {
  if (vm === undefined) return undefined;
  const { namespace, name, owner, ownLabels: labels } = vm;
  return kind === 'VirtualMachineReplicaSet'
    ? { namespace, name, owner, labels }
    : { namespace, name, owner: null, labels: null };
}

/** Undefined for the VMI of a VM, whose name is the VM's. */
const ofLoneVmi = (vmi: VmiView | undefined): Membership | undefined =>
  vmi?.standalone ? { namespace: vmi.namespace, name: vmi.name, ...vmi.standalone } : undefined;

/** The set of this kind that controls the member; if nothing does, the sets that would adopt it. */
function setsOf(member: Membership | undefined, kind: SetKind, sets: readonly StoredSet[]): string[] {
  const { namespace, owner, labels = null } = member ?? {};
  if (owner) return owner.kind === kind ? [`${namespace}/${owner.name}`] : [];
  const isMatched = ({ metadata, spec }: StoredSet): boolean =>
    metadata.namespace === namespace && labels !== null && matchesLabels(spec.selector, labels);
  return sets.filter(isMatched).map(ownerName);
}

/**
 * The sets that have something in common with a VM or VMI, whatever controls it, if it has come, gone, or changed hands
 * or labels: their statuses say so.
 */
function setsInCommon(
  before: Membership | undefined,
  after: Membership | undefined,
  sets: readonly StoredSet[],
): string[] {
  const isSame = before?.owner?.uid === after?.owner?.uid && canonical(before?.labels) === canonical(after?.labels);
  if (before !== undefined && after !== undefined && isSame) return [];
  const isConcerned = ({ metadata, spec }: StoredSet): boolean =>
    [before, after].some(
      (one) =>
        one?.namespace === metadata.namespace &&
        (isReplicaName(metadata.name, one.name) || (one.labels !== null && matchesLabels(spec.selector, one.labels))),
    );
  return sets.filter(isConcerned).map(ownerName);
}
