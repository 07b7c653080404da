/** What `spreadOut` must know of members. */
export interface Spreading<T> {
  /** Whether two members have the same rank, so that either may leave before the other. */
  areEqual: (a: T, b: T) => boolean;
  /** The node or zone that a member is on; null if it is on none. */
  domainOf: (member: T) => string | null;
  /** Members that don't leave, and count as well. */
  staying: readonly T[];
}

/**
 * Sorts members of equal rank, of those in the order in which they leave, so that each leaves from the place that has
 * most members then: what stays is spread as evenly as the ranks allow. Members that are on no place come last.
 */
export function spreadOut<T>(ordered: readonly T[], { areEqual, domainOf, staying }: Spreading<T>): T[] {
  const counts = new Map<string, number>();
  const count = (member: T, by: number): number => {
    const domain = domainOf(member);
    if (domain === null) return 0;
    const before = counts.get(domain) ?? 0;
    counts.set(domain, before + by);
    return before;
  };
  for (const member of [...ordered, ...staying]) count(member, 1);
  return groups(ordered, areEqual).flatMap((group) => {
    // How many members its place has when each one leaves.
    const ranked = group.map((member) => ({ member, crowd: count(member, -1) }));
    return ranked.toSorted((a, b) => b.crowd - a.crowd).map(({ member }) => member);
  });
}

function groups<T>(ordered: readonly T[], areEqual: Spreading<T>['areEqual']): T[][] {
  const all: T[][] = [];
  for (const member of ordered) {
    const last = all.at(-1);
    if (last !== undefined && areEqual(last[0]!, member)) last.push(member);
    else all.push([member]);
  }
  return all;
}
