import type { SetKind } from '../../api/owner-kinds.ts';
import { VirtualMachineInstanceReplicaSets, VirtualMachineReplicaSets } from '../../api/resources.ts';
import { matchesLabels } from '../../api/rules/label-selector.ts';
import type { StoredSet } from '../../decisions/views/owner.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import type { ObjectChange } from '../cache/objects/cache-change.ts';
import {
  distinct,
  ownerName,
  looksTheSame,
  VMI_FIELDS_OF_TRANSITIONS,
  VM_FIELDS_OF_TRANSITIONS,
  ownerFingerprint,
  vmisOn,
  vmOf,
} from './affected-pools.ts';
import { overlappingSets, setsInCommon, type Membership, type Sets } from './overlapping-sets.ts';

const OF_VMS = VirtualMachineReplicaSets.kind as SetKind;
const OF_VMIS = VirtualMachineInstanceReplicaSets.kind as SetKind;

/** A set's selector reads the VM's own labels. */
const UNREAD = new Set([...VM_FIELDS_OF_TRANSITIONS].filter((field) => field !== 'ownLabels'));

/**
 * Returns the sets of VMs, by `namespace/name`, that a change concerns; none if nothing changed that a decision reads.
 */
export function affectedSets(
  change: ObjectChange,
  cache: Pick<ClusterCache, 'replicaSets' | 'vms' | 'vmis'>,
): string[] {
  const setsOf = (vm: VmView | undefined): string[] =>
    vm === undefined ? [] : setsOfMember({ ...vm, labels: vm.ownLabels }, OF_VMS, cache.replicaSets);
  switch (change.kind) {
    case 'replica set':
      return ownerFingerprint(change.before) === ownerFingerprint(change.after)
        ? []
        : setsBeside(change, cache.replicaSets);
    case 'vm':
      if (looksTheSame(change.before, change.after, UNREAD)) return [];
      return distinct([
        ...[change.before, change.after].flatMap(setsOf),
        ...setsInCommon(asMember(change.before), asMember(change.after), cache.replicaSets),
      ]);
    case 'vmi':
      return looksTheSame(change.before, change.after, VMI_FIELDS_OF_TRANSITIONS)
        ? []
        : distinct([change.before, change.after].flatMap((vmi) => setsOf(vmi && vmOf(vmi, cache))));
    case 'node':
      return distinct(vmisOn(change, cache).flatMap((vmi) => setsOf(vmOf(vmi, cache))));
    case 'pool':
    case 'VMI replica set':
    case 'operation':
    case 'schedule':
    case 'migration':
    case 'pod budget':
    case 'disk':
    case 'content':
    case 'strategy':
      return [];
  }
}

/** Returns the sets of VMIs, by `namespace/name`, that a change concerns. */
export function affectedVmiSets(change: ObjectChange, cache: Pick<ClusterCache, 'vmiSets' | 'vmis'>): string[] {
  const setsOf = (vmi: VmiView | undefined): string[] => {
    const { standalone = null, namespace = '' } = vmi ?? {};
    return standalone === null ? [] : setsOfMember({ namespace, ...standalone }, OF_VMIS, cache.vmiSets);
  };
  switch (change.kind) {
    case 'VMI replica set':
      return ownerFingerprint(change.before) === ownerFingerprint(change.after)
        ? []
        : setsBeside(change, cache.vmiSets);
    case 'vmi':
      if (looksTheSame(change.before, change.after, VMI_FIELDS_OF_TRANSITIONS)) return [];
      return distinct([
        ...[change.before, change.after].flatMap(setsOf),
        ...setsInCommon(asVmiMember(change.before), asVmiMember(change.after), cache.vmiSets),
      ]);
    // Its VMI would have its name.
    case 'vm':
      return setsInCommon(asName(change.before), asName(change.after), cache.vmiSets);
    case 'node':
      return distinct(vmisOn(change, cache).flatMap(setsOf));
    case 'pool':
    case 'replica set':
    case 'operation':
    case 'schedule':
    case 'migration':
    case 'pod budget':
    case 'disk':
    case 'content':
    case 'strategy':
      return [];
  }
}

/** The set that has changed, and those whose statuses tell of it. */
const setsBeside = (
  { before, after }: { before: StoredSet | undefined; after: StoredSet | undefined },
  sets: Sets,
): string[] => distinct([ownerName((after ?? before)!), ...overlappingSets(before, after, sets)]);

function asMember(vm: VmView | undefined): Membership | undefined {
  if (vm === undefined) return undefined;
  const { namespace, name, owner, ownLabels: labels } = vm;
  return { namespace, name, owner, labels };
}

/** Undefined for the VMI of a VM, whose name is the VM's. */
const asVmiMember = (vmi: VmiView | undefined): Membership | undefined =>
  vmi?.standalone ? { namespace: vmi.namespace, name: vmi.name, ...vmi.standalone } : undefined;

/** What matters of a VM to a set of VMIs. */
const asName = (vm: VmView | undefined): Membership | undefined =>
  vm && { namespace: vm.namespace, name: vm.name, owner: null, labels: null };

interface Member {
  namespace: string;
  owner: VmView['owner'];
  labels: Record<string, string>;
}

/** The set of this kind that controls the member; if nothing does, the sets that would adopt it. */
function setsOfMember({ namespace, owner, labels }: Member, kind: SetKind, sets: Sets): string[] {
  if (owner !== null) return owner.kind === kind ? [`${namespace}/${owner.name}`] : [];
  const isMatched = ({ metadata, spec }: StoredSet): boolean =>
    metadata.namespace === namespace && matchesLabels(spec.selector, labels);
  return [...sets.values()].filter(isMatched).map(ownerName);
}
