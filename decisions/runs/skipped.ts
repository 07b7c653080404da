/** Names of VMs that are passed over for the same reason; the rest is a number. */
const NAMES_SHOWN = 100;

/** VMs that are passed over now. */
export interface PassedOver {
  why: string;
  /** Their owners will have it so; else it is waited for. */
  isWish: boolean;
  count: number;
  /** The first of them. */
  vms: string[];
}

/**
 * Reasons that are told, names with each, and characters of a reason: what a look says stays small, whatever there is
 * to say.
 */
const REASONS_TOLD = 40;
const NAMES_TOLD = 40;
const WHY_LENGTH = 300;

/** As a workflow keeps it, and hands it to its next run, in one payload that Temporal limits: the rest is counted. */
export function inShort(passedOver: readonly PassedOver[]): PassedOver[] {
  const first = passedOver.slice(0, REASONS_TOLD);
  const told = first.map(({ why, isWish, count, vms }) => {
    return { why: why.slice(0, WHY_LENGTH), isWish, count, vms: vms.slice(0, NAMES_TOLD) };
  });
  const rest = passedOver.slice(REASONS_TOLD);
  return [
    ...told,
    ...[true, false].flatMap((isWish) =>
      others(
        isWish,
        rest.filter((one) => one.isWish === isWish),
      ),
    ),
  ];
}

function others(isWish: boolean, rest: readonly PassedOver[]): PassedOver[] {
  const count = rest.reduce((sum, one) => sum + one.count, 0);
  return count === 0 ? [] : [{ why: 'for other reasons', isWish, count, vms: [] }];
}

/** Gathers them by their reasons. */
export class PassedOverVms {
  readonly #groups = new Map<string, PassedOver>();

  add(key: string, why: string, isWish: boolean): void {
    const group = this.#groups.get(why) ?? { why, isWish, count: 0, vms: [] };
    this.#groups.set(why, group);
    group.count++;
    if (group.vms.length < NAMES_SHOWN) group.vms.push(key);
  }

  get all(): PassedOver[] {
    return [...this.#groups.values()];
  }
}
