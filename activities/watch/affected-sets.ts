import { matchesLabels } from '../../api/lib/label-selector.ts';
import type { SetKind } from '../../api/owner-kinds.ts';
import { VirtualMachineInstanceReplicaSets, VirtualMachineReplicaSets } from '../../api/resources.ts';
import type { StoredSet } from '../../decisions/views/owner.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import type { CacheChange } from '../cache/cache-change.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
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

const OF_VMS = VirtualMachineReplicaSets.kind as SetKind;
const OF_VMIS = VirtualMachineInstanceReplicaSets.kind as SetKind;

/** A set's selector reads the VM's own labels. */
const UNREAD = new Set([...VM_FIELDS_OF_TRANSITIONS].filter((field) => field !== 'ownLabels'));

/**
 * Returns the sets of VMs, by `namespace/name`, that a change concerns; none if nothing changed that a decision reads.
 */
export function affectedSets(change: CacheChange, cache: Pick<ClusterCache, 'replicaSets' | 'vms' | 'vmis'>): string[] {
  const setsOf = (vm: VmView | undefined): string[] =>
    vm === undefined ? [] : setsOfMember({ ...vm, labels: vm.ownLabels }, OF_VMS, cache.replicaSets);
  switch (change.kind) {
    case 'replica set':
      return ownerFingerprint(change.before) === ownerFingerprint(change.after)
        ? []
        : [ownerName((change.after ?? change.before)!)];
    case 'vm':
      return looksTheSame(change.before, change.after, UNREAD)
        ? []
        : distinct([change.before, change.after].flatMap(setsOf));
    case 'vmi':
      return looksTheSame(change.before, change.after, VMI_FIELDS_OF_TRANSITIONS)
        ? []
        : distinct([change.before, change.after].flatMap((vmi) => setsOf(vmi && vmOf(vmi, cache))));
    case 'node':
      return distinct(vmisOn(change, cache).flatMap((vmi) => setsOf(vmOf(vmi, cache))));
    case 'pool':
    case 'VMI replica set':
    case 'migration':
    case 'pod budget':
    case 'disk':
    case 'content':
    case 'strategy':
      return [];
  }
}

/** Returns the sets of VMIs, by `namespace/name`, that a change concerns. */
export function affectedVmiSets(change: CacheChange, cache: Pick<ClusterCache, 'vmiSets' | 'vmis'>): string[] {
  const setsOf = (vmi: VmiView | undefined): string[] => {
    const { standalone = null, namespace = '' } = vmi ?? {};
    return standalone === null ? [] : setsOfMember({ namespace, ...standalone }, OF_VMIS, cache.vmiSets);
  };
  switch (change.kind) {
    case 'VMI replica set':
      return ownerFingerprint(change.before) === ownerFingerprint(change.after)
        ? []
        : [ownerName((change.after ?? change.before)!)];
    case 'vmi':
      return looksTheSame(change.before, change.after, VMI_FIELDS_OF_TRANSITIONS)
        ? []
        : distinct([change.before, change.after].flatMap(setsOf));
    case 'node':
      return distinct(vmisOn(change, cache).flatMap(setsOf));
    case 'pool':
    case 'replica set':
    case 'vm':
    case 'migration':
    case 'pod budget':
    case 'disk':
    case 'content':
    case 'strategy':
      return [];
  }
}

interface Member {
  namespace: string;
  owner: VmView['owner'];
  labels: Record<string, string>;
}

/** The set of this kind that controls the member; if nothing does, those that would adopt it. */
function setsOfMember(
  { namespace, owner, labels }: Member,
  kind: SetKind,
  sets: { values: () => Iterable<StoredSet> },
): string[] {
  if (owner !== null) return owner.kind === kind ? [`${namespace}/${owner.name}`] : [];
  const isMatched = ({ metadata, spec }: StoredSet): boolean =>
    metadata.namespace === namespace && matchesLabels(spec.selector, labels);
  return [...sets.values()].filter(isMatched).map(ownerName);
}
