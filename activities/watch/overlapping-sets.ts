import { matchesLabels } from '../../api/rules/label-selector.ts';
import { canonical } from '../../decisions/lib/canonical-json.ts';
import { isReplicaName } from '../../decisions/replica-sets/names.ts';
import { overlaps } from '../../decisions/replica-sets/overlaps.ts';
import type { StoredSet } from '../../decisions/views/owner.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import { ownerName } from './affected-pools.ts';

/** What decides whose member a VM or VMI is. */
export interface Membership {
  namespace: string;
  name: string;
  owner: VmView['owner'];
  /** Null for an object that can't be a member of the sets in question, but may have one of their names. */
  labels: Readonly<Record<string, string>> | null;
}

export interface Sets {
  values: () => Iterable<StoredSet>;
}

/**
 * Returns the sets that have something in common with a VM or VMI, whatever controls it, if it has come, gone, or
 * changed hands or labels: their statuses tell of it.
 */
export function setsInCommon(before: Membership | undefined, after: Membership | undefined, sets: Sets): string[] {
  if (before !== undefined && after !== undefined && isSame(before, after)) return [];
  const isConcerned = ({ metadata, spec }: StoredSet): boolean =>
    [before, after].some(
      (one) =>
        one?.namespace === metadata.namespace &&
        (isReplicaName(metadata.name, one.name) || (one.labels !== null && matchesLabels(spec.selector, one.labels))),
    );
  return [...sets.values()].filter(isConcerned).map(ownerName);
}

const isSame = (before: Membership, after: Membership): boolean =>
  before.owner?.uid === after.owner?.uid && canonical(before.labels) === canonical(after.labels);

/** Returns the sets whose members would also be those of the set that has changed, or that its members would be of. */
export const overlappingSets = (before: StoredSet | undefined, after: StoredSet | undefined, sets: Sets): string[] =>
  [...sets.values()]
    .filter((set) => [before, after].some((one) => one !== undefined && overlaps(one, set)))
    .map(ownerName);
