import type { SelectionPolicy } from '../../api/pool/pool.ts';
import { matchesLabels } from '../../api/rules/label-selector.ts';
import { compareRanks } from '../lib/ranks.ts';
import { scatter } from '../lib/scatter.ts';
import { numberOf } from '../template/vm-names.ts';
import { isBroken, isFailing, isHalted, type VmView } from '../views/vm.ts';
import { spreadOut, type Spreading } from './spread.ts';

/** The rank of a member that is ready and stays where it is: the highest. */
const SERVING = 3;

/**
 * Orders members by the cost of losing them: members that are not ready first, then members that migrate or whose node
 * is drained, then others.
 */
export function servingRank({ isReady, isMoving }: { isReady: boolean; isMoving: boolean }): number {
  if (!isReady) return 1;
  return isMoving ? 2 : SERVING;
}

/** What the order needs to know besides the VM itself. */
export interface OrderOptions {
  policy?: SelectionPolicy | undefined;
  /** Whether the VM is being healed. */
  isUnhealthy?: (vm: VmView) => boolean;
  /** Whether the VM has no VMI and is not meant to have one. */
  isAtRest?: (vm: VmView) => boolean;
  isMoving?: (vm: VmView) => boolean;
  /**
   * Whether the VM has the revision that VMs are brought to. One that still needs the update leaves before its equals,
   * because that saves a restart; one of which that is unknown, as of a VM that was attached by hand, leaves after
   * them.
   */
  isUpdated?: (vm: VmView) => boolean | 'unknown';
  /** How VMs of equal rank are to be spread. */
  spread?: Pick<Spreading<VmView>, 'domainOf' | 'staying'> | undefined;
}

/**
 * Sorts VMs in the order in which they leave a pool: first VMs that are being healed, then VMs that can't run as they
 * are, then by the policy's selectors in their order, then by its base policy, for which VMs that users have put
 * into the pool come last. Trouble that may pass by itself, such as a lost node or a full cluster, puts a VM first only
 * if the policy has no selectors; otherwise it counts less than these, and more than the base policy. The order
 * is total and deterministic: the same fleet always gives the same order.
 */
export function scaleInOrder(vms: readonly VmView[], options: OrderOptions = {}): VmView[] {
  const { policy = {}, isUnhealthy = () => false, isAtRest = isHalted, isMoving = () => false } = options;
  const isExplicit = (policy.orderedPolicies ?? []).length > 0;
  const isRandom = (policy.basePolicy ?? 'Random') === 'Random';
  /** The cost of losing the VM. A user who puts a halted VM into a pool wants to keep it there. */
  const lossRank = (vm: VmView): number => {
    if (isAtRest(vm)) return vm.joined ? SERVING : 0;
    return servingRank({ isReady: vm.ready, isMoving: isMoving(vm) });
  };
  const rankOf = (vm: VmView): number[] => [
    isUnhealthy(vm) ? 0 : 1,
    isFailing(vm) || (!isExplicit && isBroken(vm)) ? 0 : 1,
    selectorRank(vm, policy),
    isBroken(vm) ? 0 : 1,
    ...(isRandom ? [lossRank(vm)] : []),
    vm.joined ? 1 : 0,
    ...(isRandom ? [updateRank(options.isUpdated?.(vm) ?? true)] : []),
  ];
  return inOrder(vms, rankOf, policy, options.spread);
}

function updateRank(isUpdated: boolean | 'unknown'): number {
  if (isUpdated === 'unknown') return 2;
  return isUpdated ? 1 : 0;
}

/**
 * Sorts VMs in the order in which they are updated: first those already down, which costs nothing more, then by the
 * policy.
 */
export function updateOrder(
  vms: readonly VmView[],
  isDown: (vm: VmView) => boolean,
  policy: SelectionPolicy = {},
): VmView[] {
  const isRandom = (policy.basePolicy ?? 'Random') === 'Random';
  const rankOf = (vm: VmView): number[] => [
    isDown(vm) ? 0 : 1,
    selectorRank(vm, policy),
    ...(isRandom ? [isHalted(vm) ? 0 : servingRank({ isReady: vm.ready, isMoving: false })] : []),
  ];
  return inOrder(vms, rankOf, policy);
}

/** Sorts by rank, and VMs of equal rank as they are to be spread, then by the base policy. */
function inOrder(
  vms: readonly VmView[],
  rankOf: (vm: VmView) => number[],
  policy: SelectionPolicy,
  spread?: OrderOptions['spread'],
): VmView[] {
  const ranks = new Map(vms.map((vm) => [vm, { rank: rankOf(vm), tie: tieRank(vm, policy) }]));
  const byRank = (a: VmView, b: VmView): number => compareRanks(ranks.get(a)!.rank, ranks.get(b)!.rank);
  const byTie = (a: VmView, b: VmView): number => compareRanks(ranks.get(a)!.tie, ranks.get(b)!.tie);
  const ordered = vms.toSorted((a, b) => byRank(a, b) || byTie(a, b) || (a.name < b.name ? -1 : 1));
  const areEqual = (a: VmView, b: VmView): boolean => byRank(a, b) === 0;
  return spread === undefined ? ordered : spreadOut(ordered, { ...spread, areEqual });
}

/** Returns the index of the first entry that the VM matches; VMs that match none rank after all of them. */
export function selectorRank(
  { labels, nodeSelector: ofVm }: VmView,
  { orderedPolicies = [] }: SelectionPolicy,
): number {
  const matched = orderedPolicies.findIndex(
    ({ labelSelector = {}, nodeSelector = {} }) =>
      matchesLabels(labelSelector, labels) && matchesLabels(nodeSelector, ofVm),
  );
  return matched === -1 ? orderedPolicies.length : matched;
}

/** The VM's rank by the policy alone: VMs of equal rank (all, if there is no policy) have no order. */
export const policyRank = (vm: VmView, policy: SelectionPolicy = {}): number[] => [
  selectorRank(vm, policy),
  ...((policy.basePolicy ?? 'Random') === 'Random' ? [] : tieRank(vm, policy)),
];

/** The base policy's order among VMs that cost the same. */
function tieRank(vm: VmView, { basePolicy = 'Random' }: SelectionPolicy): number[] {
  switch (basePolicy) {
    // Kubernetes' times are whole seconds: of VMs created in the same second, the lower number counts as older.
    case 'Oldest':
      return [vm.createdAt, numberIn(vm)];
    case 'Newest':
      return [-vm.createdAt, -numberIn(vm)];
    case 'HighestNumber':
      return [-numberIn(vm)];
    case 'LowestNumber':
      return [numberIn(vm)];
    case 'Random':
      return [scatter(vm.uid)];
  }
}

/** 0 for a VM whose name the pool would not give. */
const numberIn = ({ owner, name }: VmView): number => (owner === null ? null : numberOf(owner.name, name)) ?? 0;
