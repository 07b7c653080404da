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
