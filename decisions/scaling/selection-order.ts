import { matchesLabels } from '../../api/label-selector.ts';
import type { SelectionPolicy } from '../../api/pool/pool.ts';
import { scatter } from '../lib/scatter.ts';
import { isBroken, isFailing, isHalted, type VmView } from '../views/vm.ts';
import { numberOf } from './vm-names.ts';

/** What the order needs to know besides the VM itself. */
export interface OrderOptions {
  policy?: SelectionPolicy | undefined;
  /** Whether the VM has no VMI and is not meant to have one. */
  isAtRest?: (vm: VmView) => boolean;
  /** Whether the VM still needs an update: it leaves before its equals, because that saves a restart. */
  isOutdated?: (vm: VmView) => boolean;
}

/**
 * Sorts VMs in the order in which they leave a pool: first VMs whose names the pool would not give, then VMs that can't
 * run as they are, then by the policy's label selectors in their order, then by its base policy. Trouble that may pass
 * by itself, such as a lost node or a full cluster, puts a VM first only if the policy has no label selectors;
 * otherwise it counts less than these, and more than the base policy. The order is total and deterministic: the same
 * fleet always gives the same order.
 */
export function scaleInOrder(
  vms: readonly VmView[],
  { policy = {}, isAtRest = isHalted, isOutdated = () => false }: OrderOptions = {},
): VmView[] {
  const isExplicit = (policy.orderedPolicies ?? []).length > 0;
  const first = (vm: VmView): number[] => [
    isNamedOtherwise(vm) ? 0 : 1,
    isFailing(vm) || (!isExplicit && isBroken(vm)) ? 0 : 1,
  ];
  return inOrder(vms, { first, second: (vm) => [isBroken(vm) ? 0 : 1], policy, isAtRest, isOutdated });
}

/**
 * Sorts VMs in the order in which they are updated: first those already down, which costs nothing more, then by the
 * policy.
 */
export const updateOrder = (
  vms: readonly VmView[],
  isDown: (vm: VmView) => boolean,
  policy: SelectionPolicy = {},
): VmView[] =>
  inOrder(vms, {
    first: (vm) => [isDown(vm) ? 0 : 1],
    second: () => [],
    policy,
    isAtRest: isHalted,
    isOutdated: () => false,
  });

interface Order extends Required<OrderOptions> {
  policy: SelectionPolicy;
  /**
   * `first` counts more than the policy's label selectors; `second` counts less than these, and more than the base
   * policy.
   */
  first: (vm: VmView) => number[];
  second: (vm: VmView) => number[];
}

function inOrder(vms: readonly VmView[], order: Order): VmView[] {
  const { first, second, policy } = order;
  const rank = new Map(
    vms.map((vm) => [vm, [...first(vm), labelRank(vm, policy), ...second(vm), ...baseRank(vm, order)]] as const),
  );
  return [...vms].sort((one, other) => compare(rank.get(one)!, rank.get(other)!) || (one.name < other.name ? -1 : 1));
}

/** Returns the index of the first label selector that the VM matches; VMs that match none rank after all of them. */
export function labelRank({ labels }: VmView, { orderedPolicies = [] }: SelectionPolicy): number {
  const matched = orderedPolicies.findIndex(({ labelSelector }) => matchesLabels(labelSelector, labels));
  return matched === -1 ? orderedPolicies.length : matched;
}

function baseRank(vm: VmView, { policy, isAtRest, isOutdated }: Order): number[] {
  switch (policy.basePolicy ?? 'Random') {
    // Kubernetes' times are whole seconds: of VMs created in the same second, the lower number counts as older.
    case 'Oldest':
      return [vm.createdAt, numberIn(vm)];
    case 'Newest':
      return [-vm.createdAt, -numberIn(vm)];
    case 'Random':
      // Least disruption first: VMs at rest, then VMs that don't serve yet, then ready ones.
      return [isAtRest(vm) ? 0 : servingRank(vm), isOutdated(vm) ? 0 : 1, scatter(vm.uid)];
  }
}

const servingRank = ({ ready }: VmView): number => (ready ? 2 : 1);

/** A VM with a name that the pool would not give was adopted by hand: no number of the pool stands for it. */
const isNamedOtherwise = ({ owner, name }: VmView): boolean => owner !== null && numberOf(owner.name, name) === null;

/** 0 for a VM whose name the pool would not give. */
const numberIn = ({ owner, name }: VmView): number => (owner === null ? null : numberOf(owner.name, name)) ?? 0;

function compare(one: readonly number[], other: readonly number[]): number {
  for (let i = 0; i < one.length; i++) if (one[i] !== other[i]) return one[i]! - other[i]!;
  return 0;
}
