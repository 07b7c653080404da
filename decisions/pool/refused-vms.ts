/** VMs that the API server would not have made, halted or deleted. */
export interface RefusedVms {
  /** The last to be refused last. */
  names: readonly string[];
  /** They are not to be tried now. */
  isHeld: boolean;
  /** Whatever refused them may refuse all others as well: these are tried one at a time. */
  isGeneral?: boolean;
}

/** Steps of this part of a whole come near every place of it soon, and to none twice. */
const GOLDEN_RATIO = (Math.sqrt(5) - 1) / 2;

/**
 * Items in the order in which they are tried: what was refused before lets the others go first, and waits for its time.
 * If all may be refused, the first is taken from anywhere among them, each time from somewhere else: many refused VMs
 * in a row hold up the rest no longer than a few.
 */
export function refusedLast<T>(items: readonly T[], nameOf: (item: T) => string, refused: RefusedVms | undefined): T[] {
  const { names, isHeld, isGeneral = false } = refused ?? { names: [], isHeld: false };
  if (names.length === 0) return [...items];
  const rank = new Map(names.map((name, index) => [name, index]));
  const rankOf = (item: T): number | undefined => rank.get(nameOf(item));
  const others = items.filter((item) => rankOf(item) === undefined);
  const last = items.filter((item) => rankOf(item) !== undefined).sort((one, other) => rankOf(one)! - rankOf(other)!);
  return [...(isGeneral ? anyFirst(others, names.length) : others), ...(isHeld ? [] : last)];
}

function anyFirst<T>(items: readonly T[], turn: number): T[] {
  const index = Math.floor(((turn * GOLDEN_RATIO) % 1) * items.length);
  return [...items.slice(index, index + 1), ...items.slice(0, index), ...items.slice(index + 1)];
}
