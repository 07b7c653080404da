import type { SelectionPolicy } from '../../api/pool/pool.ts';
import { matchesLabels } from '../lib/label-selector.ts';
import { isBroken, isFailing, isHalted, type VmView } from '../views/vm.ts';
import { numberOf } from './vm-names.ts';

/** What the order needs to know of a VM beside the VM itself. */
export interface OrderOptions {
  policy?: SelectionPolicy | undefined;
  /** True for a VM that has no guest and is not to have one. */
  isAtRest?: (vm: VmView) => boolean;
  /** True for a VM that still needs an update: it leaves before its equals, for that saves a restart. */
  isOutdated?: (vm: VmView) => boolean;
}

/**
 * The order in which VMs leave a pool: those first whose names are none that the pool gives, then those that can't run
 * as they are, then by the policy's label selectors in their order, then by its base policy. What may pass by itself, a
 * node that is away for a moment or a cluster that is full, puts a VM first only where the policy names no labels of
 * its own. Total and repeatable: the same fleet gives the same order, whoever asks and how often.
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
 * The order in which VMs are updated: those first that are down already, which costs nothing more; then as the policy
 * says.
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
  /** What counts more than the policy's label selectors, and what counts less and more than its base policy. */
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

/**
 * Which of the policy's label selectors the VM is the first to match; one that matches none comes after all of them.
 */
export function labelRank({ labels }: VmView, { orderedPolicies = [] }: SelectionPolicy): number {
  const matched = orderedPolicies.findIndex(({ labelSelector }) => matchesLabels(labelSelector, labels));
  return matched === -1 ? orderedPolicies.length : matched;
}

function baseRank(vm: VmView, { policy, isAtRest, isOutdated }: Order): number[] {
  switch (policy.basePolicy ?? 'Random') {
    // Kubernetes' times are in whole seconds: of VMs made in one, the lower number counts as the older.
    case 'Oldest':
      return [vm.createdAt, numberIn(vm)];
    case 'Newest':
      return [-vm.createdAt, -numberIn(vm)];
    case 'Random':
      // The least disruption first: a VM at rest, then one that serves nobody yet, then a ready one.
      return [isAtRest(vm) ? 0 : vm.ready ? 2 : 1, isOutdated(vm) ? 0 : 1, scatter(vm.uid)];
  }
}

/** A VM of another name was adopted by hand: no number of the pool stands for it. */
const isNamedOtherwise = ({ owner, name }: VmView): boolean => owner !== null && numberOf(owner.name, name) === null;

/** 0 for a VM that the pool would have named otherwise. */
const numberIn = ({ owner, name }: VmView): number => (owner === null ? null : numberOf(owner.name, name)) ?? 0;

/** A number that looks random and stays the same for one VM (FNV-1a), so that a plan made twice picks the same VMs. */
function scatter(uid: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < uid.length; i++) hash = Math.imul(hash ^ uid.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

function compare(one: readonly number[], other: readonly number[]): number {
  for (let i = 0; i < one.length; i++) if (one[i] !== other[i]) return one[i]! - other[i]!;
  return 0;
}
