import type { StoredPool } from '../views/pool.ts';
import { isRegular, isSurge, type VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';
import {
  availableSince,
  isActive,
  isMeantToRun,
  maxUnavailableOf,
  unavailability,
  type UnavailabilityInput,
} from './availability.ts';

export type DisruptionBudgetInput = Omit<UnavailabilityInput, 'vms'> & {
  /** VMs that the pool owns, of any role. */
  vms: readonly VmView[];
  /** Milliseconds since the epoch. */
  now: number;
};

/** What may be disrupted in a pool, and what is: nothing else compares `maxUnavailable` with what is down. */
export class DisruptionBudget {
  /** How many VMs may be down at once: `maxUnavailable`, and one for each VM that stands in for another. */
  readonly most: number;
  /** Available surge VMs. Each adds one to the budget, and taking one down uses one. */
  readonly availableSurge: ReadonlySet<string>;
  /** VMs that are down, or soon will be; those of them that have names. */
  readonly names: ReadonlySet<string>;
  readonly #names: Set<string>;
  #count: number;

  constructor({ vms, inProgress, ...input }: DisruptionBudgetInput) {
    const { pool, vmiOf, now } = input;
    const active = vms.filter(isActive);
    const minReadyMs = minReadyMsOf(pool);
    const availableSurge = new Set(namesOf(active.filter((vm) => isAvailableSurge(vm, vmiOf(vm), minReadyMs, now))));
    const extra = new Set(namesOf(vms.filter((vm) => !isRegular(vm))));
    const held = [...new Set(inProgress)];
    const { names, count } = unavailability({
      ...input,
      vms: active.filter(isRegular),
      inProgress: held.filter((name) => !extra.has(name)),
    });
    const going = held.filter((name) => availableSurge.has(name));
    this.most = maxUnavailableOf(pool) + availableSurge.size;
    this.availableSurge = availableSurge;
    this.#names = new Set([...names, ...going]);
    this.names = this.#names;
    this.#count = count + going.length;
  }

  /** How many VMs are down, or soon will be. */
  get count(): number {
    return this.#count;
  }

  /** How many more may go down; negative if more are down than may be. */
  get left(): number {
    return this.most - this.#count;
  }

  /** Reports whether one VM more is down if this one goes down. */
  costs(vm: VmView): boolean {
    return this.#uses(vm) && !this.#names.has(vm.name);
  }

  /** Reports whether the VM may go down now: a VM that is down costs nothing more. */
  admits(vm: VmView): boolean {
    return !this.costs(vm) || this.left > 0;
  }

  /** Reports the same of a VM that counts only because it may go down at any moment: others may be down since. */
  stillAdmits(vm: VmView): boolean {
    return !this.#uses(vm) || this.left >= (this.#names.has(vm.name) ? 0 : 1);
  }

  /** Counts the VM as down from now on. */
  take(vm: VmView): void {
    if (!this.costs(vm)) return;
    this.#names.add(vm.name);
    this.#count++;
  }

  #uses(vm: VmView): boolean {
    return isRegular(vm) || this.availableSurge.has(vm.name);
  }
}

export const minReadyMsOf = ({ spec }: StoredPool): number => (spec.rollout?.minReadySeconds ?? 0) * 1000;

/** Reports whether an active VM of the pool is extra and has been ready for long enough to stand in for another. */
function isAvailableSurge(vm: VmView, vmi: VmiView | undefined, minReadyMs: number, now: number): boolean {
  if (!isSurge(vm) || !isMeantToRun(vm, vmi)) return false;
  const since = availableSince(vm, vmi, minReadyMs);
  return since !== null && since <= now;
}

/** Why a VM of the pool may not be taken down now. */
export function whyFull(
  { metadata: { namespace, name } }: StoredPool,
  { most }: Pick<DisruptionBudget, 'most'>,
): string {
  return most > 0
    ? `${most} of pool ${namespace}/${name} at a time`
    : `pool ${namespace}/${name} lets no VM go down (maxUnavailable is 0): \`drover rollout restart pool ${name}\` makes an extra VM first`;
}

const namesOf = (vms: readonly VmView[]): string[] => vms.map(({ name }) => name);
