import type { SelectionPolicy } from '../api/pool.ts';
import { matchesLabels } from './label-selector.ts';
import { numberOf } from './naming.ts';
import { isBroken, isHalted, type VmView } from './vm.ts';

/**
 * The order in which VMs leave a pool: broken ones first, then by the policy's label selectors in their order,
 * then by its base policy. Total and repeatable: the same fleet gives the same order, whoever asks and how often.
 */
export const scaleInOrder = (vms: readonly VmView[], policy: SelectionPolicy = {}): VmView[] => inOrder(vms, isBroken, policy);

/** The order in which VMs are updated: those first that are down already, which costs nothing more; then as the policy says. */
export const updateOrder = (vms: readonly VmView[], isDown: (vm: VmView) => boolean, policy: SelectionPolicy = {}): VmView[] =>
  inOrder(vms, isDown, policy);

function inOrder(vms: readonly VmView[], comesFirst: (vm: VmView) => boolean, policy: SelectionPolicy): VmView[] {
  const { orderedPolicies = [], basePolicy = 'Random' } = policy;
  const rank = new Map(
    vms.map((vm) => {
      const matched = orderedPolicies.findIndex(({ labelSelector }) => matchesLabels(labelSelector, vm.labels));
      return [vm, [comesFirst(vm) ? 0 : 1, matched === -1 ? orderedPolicies.length : matched, ...baseRank(vm, basePolicy)]] as const;
    }),
  );
  return [...vms].sort((one, other) => compare(rank.get(one)!, rank.get(other)!) || (one.name < other.name ? -1 : 1));
}

function baseRank(vm: VmView, policy: NonNullable<SelectionPolicy['basePolicy']>): number[] {
  switch (policy) {
    // Kubernetes' times are in whole seconds: of VMs made in one, the lower number counts as the older.
    case 'Oldest':
      return [vm.createdAt, numberIn(vm)];
    case 'Newest':
      return [-vm.createdAt, -numberIn(vm)];
    case 'Random':
      // The least disruption first: a halted VM, then one that serves nobody yet, then a ready one.
      return [isHalted(vm) ? 0 : vm.ready ? 2 : 1, scatter(vm.uid)];
  }
}

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
