import { isActive, isDown, servesNobody, type VmiOf } from '../health/availability.ts';
import type { StoredPool } from '../views/pool.ts';
import { isStandby, type VmView } from '../views/vm.ts';
import { DisruptionBudget } from './budget.ts';
import type { CountedVms } from './counted-vms.ts';

/** UIDs of the VMIs to restart, or of the VMs to start or stop, by `namespace/name` of the VMs. */
export type Chosen = ReadonlyMap<string, string>;

/** A snapshot of VMs of any owner, as new as the cache; by `namespace/name`. */
export interface VmsSnapshot {
  vmOf: (key: string) => VmView | undefined;
  vmiOf: VmiOf;
  /** The drover pool that owns the VM. */
  poolOf: (vm: VmView) => OwningPool | undefined;
}

export interface OwningPool {
  pool: StoredPool;
  /** All VMs that the pool owns. */
  vms: () => readonly VmView[];
  /** Names of VMs with claims in the pool's disruption budget; absent if claims are not read. */
  claimed?: () => readonly string[];
}

export const namespacedName = ({ namespace, name }: Pick<VmView, 'namespace' | 'name'>): string =>
  `${namespace}/${name}`;

interface RunBudgetInput {
  /**
   * Whether VMs are to stay available, as in a restart: then VMs that are not ready count, whatever the cause, the
   * budgets of pools apply, and a VM without service costs nothing. If not, each VM in progress counts, and nothing
   * else.
   */
  keepsAvailable: boolean;
  /** VMs that `most` applies to although they are not in progress. */
  counted: CountedVms;
  snapshot: VmsSnapshot;
  /**
   * VMs in progress, which may go down at any moment or have not come back yet, by `namespace/name`. Those not in
   * `counted` count only in their pools.
   */
  inProgress: Iterable<string>;
  /** How many may be unavailable, or in progress, at once. */
  most: number;
  /** Milliseconds since the epoch. */
  now: number;
}

/**
 * How many more VMs a run may act on: by its own limit, and by the budgets of the pools that own them. Every VM in
 * progress counts. In a restart, so does every counted VM that should run and isn't ready, whatever the cause; a VM
 * without service costs nothing more. A standby VM that is not ready doesn't count: its pool may keep it paused for as
 * long as it stands by.
 */
export class RunBudget {
  readonly #in: RunBudgetInput;
  readonly #inProgress: Set<string>;
  /** Counted VMs that are not ready or are in progress. */
  readonly #down: Set<string> = new Set();
  /** By pool UID. */
  readonly #pools = new Map<string, DisruptionBudget>();

  constructor(input: RunBudgetInput) {
    this.#in = input;
    this.#inProgress = new Set(input.inProgress);
    if (!input.keepsAvailable) {
      this.#down = new Set(this.#inProgress);
      return;
    }
    const { counted } = input;
    this.#down = new Set(counted.out);
    for (const key of this.#inProgress) if (counted.has(key)) this.#down.add(key);
  }

  /** Counted VMs that aren't ready and are not in progress. */
  get downByThemselves(): string[] {
    return [...this.#down].filter((key) => !this.#inProgress.has(key));
  }

  /** Reports whether the VM is already unavailable or in progress, so that restarting it uses no more of the budget. */
  counts(vm: VmView): boolean {
    const { keepsAvailable, snapshot } = this.#in;
    return this.#down.has(namespacedName(vm)) || (keepsAvailable && isStandby(vm) && isDown(vm, snapshot.vmiOf(vm)));
  }

  /** Returns which budget is full for the VM; null if the VM may be taken. */
  whyNot(vm: VmView): string | null {
    const { keepsAvailable, most, snapshot } = this.#in;
    const others = this.#down.size - (this.#down.has(namespacedName(vm)) ? 1 : 0);
    const isFree = keepsAvailable && servesNobody(vm, snapshot.vmiOf(vm));
    if (!isFree && others >= most) return `${most} at a time`;
    const owner = keepsAvailable ? snapshot.poolOf(vm) : undefined;
    if (owner === undefined) return null;
    const budget = this.#poolOf(owner);
    return budget.admits(vm) ? null : budget.whyFull();
  }

  charge(vm: VmView): void {
    const key = namespacedName(vm);
    this.#inProgress.add(key);
    this.#down.add(key);
    const { keepsAvailable, snapshot } = this.#in;
    const owner = keepsAvailable ? snapshot.poolOf(vm) : undefined;
    if (owner !== undefined) this.#poolOf(owner).charge(vm);
  }

  #poolOf({ pool, vms, claimed }: OwningPool): DisruptionBudget {
    const { uid } = pool.metadata;
    const known = this.#pools.get(uid);
    if (known !== undefined) return known;
    const { now, snapshot } = this.#in;
    const active = vms().filter(isActive);
    const acting = active.filter((vm) => this.#inProgress.has(namespacedName(vm))).map(({ name }) => name);
    const { vmiOf } = snapshot;
    const counted = new DisruptionBudget({ pool, vms: active, vmiOf, acting, claimed: claimed?.() ?? [], now });
    this.#pools.set(uid, counted);
    return counted;
  }
}
