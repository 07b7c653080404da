import { matchesLabels } from '../../api/rules/label-selector.ts';
import type { StoredSet } from '../views/owner.ts';
import type { Replica } from './replica.ts';

/** The replicas that a set has or is about to have, by what is to become of them. */
export interface Members {
  /** Their labels no longer match the selector. */
  unmatched: Replica[];
  /** Members that match the selector, and have no controller. */
  orphans: Replica[];
  /** Members that have run to their end. */
  ended: Replica[];
  /** It is unknown whether they run: an eager set has replaced them. */
  unknown: Replica[];
  /** Members that stay, if they are not too many. */
  active: Replica[];
  /** Names of all that hold a place. */
  present: Set<string>;
  /** Names of all. */
  names: Set<string>;
}

export interface MembersInput {
  set: StoredSet;
  /** All that the set controls, including terminating ones. */
  replicas: readonly Replica[];
  /** Members of its namespace that no controller owns. */
  uncontrolled: readonly Replica[];
  /**
   * `strict`: a replica holds its place until it is gone, or is no longer the set's. `eager`: only while it is known to
   * run or start.
   */
  counting: 'strict' | 'eager';
}

export function membersOf({ set, replicas, uncontrolled, counting }: MembersInput): Members {
  const matches = ({ labels }: Replica): boolean => matchesLabels(set.spec.selector, labels);
  const isDeleted = set.metadata.deletionTimestamp !== undefined;
  // A member that has ended, and has no controller, is of no use to an eager set.
  const isOfUse = (one: Replica): boolean => counting === 'strict' || !(one.hasEnded || one.isUnknown);
  const orphans = isDeleted ? [] : uncontrolled.filter((one) => !one.deleting && matches(one) && isOfUse(one));
  const matching = replicas.filter((one) => !one.deleting && matches(one));
  const active = matching.filter((one) => !one.hasEnded && (counting === 'strict' || !one.isUnknown));
  const names = namesOf([...replicas, ...orphans]);
  return {
    unmatched: replicas.filter((one) => !one.deleting && !matches(one)),
    orphans,
    ended: matching.filter(({ hasEnded }) => hasEnded),
    unknown: matching.filter(({ isUnknown }) => isUnknown),
    active,
    present: counting === 'strict' ? names : namesOf([...active, ...orphans]),
    names,
  };
}

const namesOf = (replicas: readonly Replica[]): Set<string> => new Set(replicas.map(({ name }) => name));
