/** VMs that the API server refused to create, halt or delete. */
export interface RefusedVms {
  /** The most recently refused VM comes last. */
  names: readonly string[];
  /** Whether they must wait: they are not tried now. */
  isDelayed: boolean;
  /** Whatever refused them may refuse all others too: try them one at a time. */
  isGeneral?: boolean;
}

/** Its multiples modulo 1 spread evenly over the whole range and never repeat. */
const GOLDEN_RATIO = (Math.sqrt(5) - 1) / 2;

/**
 * Returns the items in the order to try them: refused items come last, and not while `isDelayed`. If every item may be
 * refused, the first one is picked from anywhere among the others, each time from another place, so that a long row of
 * refused VMs holds up the rest no longer than a short one.
 */
export function refusedLast<T>(items: readonly T[], nameOf: (item: T) => string, refused: RefusedVms | undefined): T[] {
  const { names, isDelayed, isGeneral = false } = refused ?? { names: [], isDelayed: false };
  if (names.length === 0) return [...items];
  const rank = new Map(names.map((name, index) => [name, index]));
  const rankOf = (item: T): number | undefined => rank.get(nameOf(item));
  const others = items.filter((item) => rankOf(item) === undefined);
  const last = items.filter((item) => rankOf(item) !== undefined).sort((a, b) => rankOf(a)! - rankOf(b)!);
  return [...(isGeneral ? anyFirst(others, names.length) : others), ...(isDelayed ? [] : last)];
}

function anyFirst<T>(items: readonly T[], turn: number): T[] {
  const index = Math.floor(((turn * GOLDEN_RATIO) % 1) * items.length);
  return [...items.slice(index, index + 1), ...items.slice(0, index), ...items.slice(index + 1)];
}
