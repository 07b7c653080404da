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

export type BudgetInput = Omit<UnavailabilityInput, 'vms'> & {
  /** VMs that the pool owns, of any role. */
  vms: readonly VmView[];
  /** Milliseconds since the epoch. */
  now: number;
};

/** What may be disrupted in a pool, and what is. */
export interface DisruptionBudget {
  /** How many VMs may be down at once: `maxUnavailable`, and one for each VM that stands in for another. */
  most: number;
  /** How many are, or soon will be. */
  count: number;
  /** Those of them that have names. */
  names: Set<string>;
  /** Available surge VMs. Each adds one to the budget, and taking one down uses one. */
  availableSurge: ReadonlySet<string>;
}

/** Counts a pool's disruption budget: the only place where `maxUnavailable` is compared with what is down. */
export function disruptionBudget({ vms, inProgress, ...input }: BudgetInput): DisruptionBudget {
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
  return {
    most: maxUnavailableOf(pool) + availableSurge.size,
    count: count + going.length,
    names: new Set([...names, ...going]),
    availableSurge,
  };
}

export const minReadyMsOf = ({ spec }: StoredPool): number => (spec.rollout?.minReadySeconds ?? 0) * 1000;

/** Reports whether an active VM of the pool is extra and has been ready for long enough to stand in for another. */
function isAvailableSurge(vm: VmView, vmi: VmiView | undefined, minReadyMs: number, now: number): boolean {
  if (!isSurge(vm) || !isMeantToRun(vm, vmi)) return false;
  const since = availableSince(vm, vmi, minReadyMs);
  return since !== null && since <= now;
}

/** Reports whether it uses a place in the budget to take this VM down. */
export const usesBudget = (vm: VmView, { availableSurge }: DisruptionBudget): boolean =>
  isRegular(vm) || availableSurge.has(vm.name);

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
