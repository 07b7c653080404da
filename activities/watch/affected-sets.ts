import { matchesLabels } from '../../api/label-selector.ts';
import { VirtualMachineReplicaSets } from '../../api/resources.ts';
import type { StoredReplicaSet } from '../../decisions/views/vm-owner.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { CacheChange, ClusterCache } from '../cache/cluster-cache.ts';
import {
  distinct,
  keyOfOwner,
  looksTheSame,
  OF_GUESTS_IN_TRANSITIONS,
  OF_TRANSITIONS,
  ownerWords,
  vmOf,
} from './affected-pools.ts';

/** A set's selector reads the VM's own labels. */
const UNREAD = new Set([...OF_TRANSITIONS].filter((field) => field !== 'ownLabels'));

/**
 * Returns the replica sets, by `namespace/name`, that a change concerns; none if nothing changed that a decision reads.
 */
export function affectedSets(change: CacheChange, cache: Pick<ClusterCache, 'replicaSets' | 'vms' | 'vmis'>): string[] {
  const setsOf = (vm: VmView | undefined): string[] => (vm === undefined ? [] : setsOfVm(vm, cache));
  switch (change.kind) {
    case 'set':
      return ownerWords(change.before) === ownerWords(change.after)
        ? []
        : [keyOfOwner((change.after ?? change.before)!)];
    case 'vm':
      return looksTheSame(change.before, change.after, UNREAD)
        ? []
        : distinct([change.before, change.after].flatMap(setsOf));
    case 'vmi':
      return looksTheSame(change.before, change.after, OF_GUESTS_IN_TRANSITIONS)
        ? []
        : distinct([change.before, change.after].flatMap((vmi) => setsOf(vmi && vmOf(vmi, cache))));
    case 'node': {
      const vmis = [...cache.vmis.values()].filter(({ node }) => node === change.before.name);
      return distinct(vmis.flatMap((vmi) => setsOf(vmOf(vmi, cache))));
    }
    case 'pool':
    case 'disk':
    case 'strategy':
      return [];
  }
}

/** The set that controls the VM; if nothing does, those that would adopt it. */
function setsOfVm({ namespace, owner, ownLabels }: VmView, cache: Pick<ClusterCache, 'replicaSets'>): string[] {
  if (owner !== null) return owner.kind === VirtualMachineReplicaSets.kind ? [`${namespace}/${owner.name}`] : [];
  const isMatched = ({ metadata, spec }: StoredReplicaSet): boolean =>
    metadata.namespace === namespace && matchesLabels(spec.selector, ownLabels);
  return [...cache.replicaSets.values()].filter(isMatched).map(keyOfOwner);
}
