import { availableSince, isActive, isMeantToRun, isRestarting } from '../health/availability.ts';
import type { StoredPool } from '../views/pool.ts';
import { isRegular, isSurge, type VmView } from '../views/vm.ts';
import { CLAIMS_AGAIN_MS, claimedNames } from './claims.ts';
import { maxUnavailableOf, unavailability, type UnavailabilityInput } from './unavailability.ts';

type DisruptionBudgetInput = Omit<UnavailabilityInput, 'vms' | 'inProgress'> & {
  /** VMs that the pool owns, of any role. */
  vms: readonly VmView[];
  /** Names of VMs that something is done to: they may go down at any moment, or have not come back yet. */
  acting: Iterable<string>;
  /** Names of VMs with claims; by default the claims in the pool's status. */
  claimed?: Iterable<string>;
  /** Milliseconds since the epoch. */
  now: number;
};

/**
 * What may be disrupted in a pool, and what is: nothing else compares `maxUnavailable` with what is down. VMs count if
 * they are down, are acted on, are claimed, or are to be restarted by KubeVirt.
 */
export class DisruptionBudget {
  /** How many VMs may be down at once: `maxUnavailable`, and one for each VM that stands in for another. */
  readonly most: number;
  /** Available surge VMs. Each adds one to the budget, and taking one down uses one. */
  readonly availableSurge: ReadonlySet<string>;
  /** VMs that are down, or soon will be; those of them that have names. */
  readonly names: ReadonlySet<string>;
  /**
   * When to look again if VMs must wait, in milliseconds since the epoch: no event of the pool reports that others give
   * their claims back. Null if there are no other claims.
   */
  readonly againAt: number | null;
  readonly #names: Set<string>;
  readonly #pool: StoredPool;
  #count: number;

  constructor({ pool, vms, vmiOf, acting, now, ...given }: DisruptionBudgetInput) {
    const claimed = new Set(given.claimed ?? claimedNames({ pool, vms, vmiOf }, now));
    const active = vms.filter(isActive);
    const availableSurge = availableSurgeIn({ pool, vms: active, vmiOf, now });
    const extra = new Set(namesOf(vms.filter((vm) => !isRegular(vm))));
    const own = new Set(acting);
    const restarting = namesOf(active.filter((vm) => isRestarting(vm, vmiOf(vm))));
    const disrupted = [...new Set([...own, ...claimed, ...restarting])];
    const { names, count } = unavailability({
      pool,
      vmiOf,
      vms: active.filter(isRegular),
      inProgress: disrupted.filter((name) => !extra.has(name)),
    });
    const going = disrupted.filter((name) => availableSurge.has(name));
    this.most = maxUnavailableOf(pool) + availableSurge.size;
    this.availableSurge = availableSurge;
    this.#names = new Set([...names, ...going]);
    this.names = this.#names;
    this.#count = count + going.length;
    this.#pool = pool;
    this.againAt = [...claimed].every((name) => own.has(name)) ? null : now + CLAIMS_AGAIN_MS;
  }

  /** How many VMs are down, or soon will be. */
  get count(): number {
    return this.#count;
  }

  /** How many more may go down; negative if more are down than may be. */
  get remaining(): number {
    return this.most - this.#count;
  }

  /** Reports whether one VM more is down if this one goes down. */
  costs(vm: VmView): boolean {
    return this.#uses(vm) && !this.#names.has(vm.name);
  }

  /** Reports whether the VM may go down now: a VM that is down costs nothing more. */
  admits(vm: VmView): boolean {
    return !this.costs(vm) || this.remaining > 0;
  }

  /** Reports the same of a VM that counts only because it may go down at any moment: others may be down since. */
  stillAdmits(vm: VmView): boolean {
    return !this.#uses(vm) || this.remaining >= (this.#names.has(vm.name) ? 0 : 1);
  }

  /** Counts the VM as down from now on. */
  charge(vm: VmView): void {
    if (!this.costs(vm)) return;
    this.#names.add(vm.name);
    this.#count++;
  }

  /** Says how many VMs are down and how many may be. `which`: more about the VMs that are down. */
  format(which = ' or in progress'): string {
    const { size } = this.availableSurge;
    const unavailable = `${this.#count === 1 ? '1 VM is' : `${this.#count} VMs are`} unavailable${which}`;
    const extra = size === 1 ? '1 extra VM allows' : `${size} extra VMs allow`;
    return `${unavailable}, and maxUnavailable allows ${this.most - size}${size === 0 ? '' : `; ${extra} ${size} more`}`;
  }

  /** The same of a pool that must be named, while no VM more may go down. */
  whyFull(): string {
    const { namespace, name } = this.#pool.metadata;
    return this.most > 0
      ? `in pool ${namespace}/${name}, ${this.format()}`
      : `pool ${namespace}/${name} lets no VM go down (maxUnavailable allows 0): \`drover rollout restart pool ${name}\` makes an extra VM first`;
  }

  #uses(vm: VmView): boolean {
    return isRegular(vm) || this.availableSurge.has(vm.name);
  }
}

export const minReadyMsOf = ({ spec }: StoredPool): number => (spec.rollout?.minReadySeconds ?? 0) * 1000;

/** Returns the names of the pool's extra VMs that have been ready for long enough to stand in for others. */
export function availableSurgeIn({
  pool,
  vms,
  vmiOf,
  now,
}: Pick<DisruptionBudgetInput, 'pool' | 'vms' | 'vmiOf' | 'now'>): Set<string> {
  const minReadyMs = minReadyMsOf(pool);
  const isAvailable = (vm: VmView): boolean => {
    const since = isMeantToRun(vm, vmiOf(vm)) ? availableSince(vm, vmiOf(vm), minReadyMs) : null;
    return since !== null && since <= now;
  };
  return new Set(namesOf(vms.filter((vm) => isSurge(vm) && isActive(vm) && isAvailable(vm))));
}

const namesOf = (vms: readonly VmView[]): string[] => vms.map(({ name }) => name);
