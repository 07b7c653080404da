import type { StoredPool } from '../views/pool.ts';
import type { VmView } from '../views/vm.ts';
import { isDown, isRestarting, isStaying, maxUnavailableOf, unavailability, type VmiOf } from './availability.ts';

/** UIDs of the guests (VMIs) that are to be restarted, by `namespace/name` of their VMs. */
export type Chosen = ReadonlyMap<string, string>;

/** VMs of any owner, as new as they are known; by `namespace/name`. */
export interface RestartPicture {
  vmOf: (key: string) => VmView | undefined;
  vmiOf: VmiOf;
  /** The pool of drover's that owns the VM. */
  poolOf: (vm: VmView) => OwningPool | undefined;
}

export interface OwningPool {
  pool: StoredPool;
  /** All VMs that it owns. */
  vms: () => readonly VmView[];
  /** Names of those whose places in its budget are claimed; absent where nobody looks. */
  claimed?: () => readonly string[];
}

export const keyOf = ({ namespace, name }: Pick<VmView, 'namespace' | 'name'>): string => `${namespace}/${name}`;

export interface RestartBudgetInput {
  /** VMs that may be not ready at once only within `maxUnavailable`, by `namespace/name`. */
  counted: Iterable<string>;
  picture: RestartPicture;
  /**
   * VMs that may go down at any moment, or have not yet come back, by `namespace/name`; those that are not counted
   * count in their pools alone.
   */
  inHand: Iterable<string>;
  maxUnavailable: number;
}

/**
 * The room for further restarts: among the VMs that are counted, and in the pools that own them. What counts, whatever
 * the cause, is every VM that is meant to run and isn't ready, and every one in hand. A VM that counts already costs
 * nothing more.
 */
export class RestartBudget {
  readonly #in: RestartBudgetInput;
  readonly #inHand: Set<string>;
  /** Of the counted, those that are not ready, or are in hand. */
  readonly #down = new Set<string>();
  /** By the pools' UIDs. */
  readonly #pools = new Map<string, { most: number; count: number; names: Set<string> }>();

  constructor(input: RestartBudgetInput) {
    this.#in = input;
    this.#inHand = new Set(input.inHand);
    const { vmOf, vmiOf } = input.picture;
    for (const key of input.counted) {
      const vm = vmOf(key);
      if (this.#inHand.has(key) || (vm !== undefined && isStaying(vm) && isDown(vm, vmiOf(vm)))) this.#down.add(key);
    }
  }

  /** Counted VMs that aren't ready though nobody has them in hand. */
  get downByThemselves(): string[] {
    return [...this.#down].filter((key) => !this.#inHand.has(key));
  }

  counts(vm: VmView): boolean {
    return this.#down.has(keyOf(vm));
  }

  /** What has no room for the VM; null where there is room for it. */
  whyNot(vm: VmView): string | null {
    const { maxUnavailable, picture } = this.#in;
    if (!this.counts(vm) && this.#down.size >= maxUnavailable) return `${maxUnavailable} at a time`;
    const owner = picture.poolOf(vm);
    if (owner === undefined) return null;
    const { most, count, names } = this.#poolOf(owner);
    return names.has(vm.name) || count < most ? null : `${most} of pool ${keyOf(owner.pool.metadata)} at a time`;
  }

  take(vm: VmView): void {
    const key = keyOf(vm);
    this.#inHand.add(key);
    this.#down.add(key);
    const owner = this.#in.picture.poolOf(vm);
    if (owner === undefined) return;
    const pool = this.#poolOf(owner);
    if (!pool.names.has(vm.name)) pool.count++;
    pool.names.add(vm.name);
  }

  #poolOf({ pool, vms, claimed }: OwningPool): { most: number; count: number; names: Set<string> } {
    const { uid } = pool.metadata;
    const known = this.#pools.get(uid);
    if (known !== undefined) return known;
    const staying = vms().filter(isStaying);
    const { vmiOf } = this.#in.picture;
    const going = staying.filter((vm) => isRestarting(vm, vmiOf(vm)) || this.#inHand.has(keyOf(vm)));
    const inHand = [...(claimed?.() ?? []), ...going.map(({ name }) => name)];
    const counted = { most: maxUnavailableOf(pool), ...unavailability({ pool, vms: staying, vmiOf, inHand }) };
    this.#pools.set(uid, counted);
    return counted;
  }
}
