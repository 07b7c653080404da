import { POOL_LABEL } from '../../../api/labels-and-annotations.ts';
import {
  isActive,
  isMeantToRun,
  isReady,
  isRestarting,
  runsByItself,
  servesNobody,
} from '../../health/availability.ts';
import { isEvacuating } from '../../views/evacuation.ts';
import type { StoredReplicaSet } from '../../views/owner.ts';
import type { StoredPool } from '../../views/pool.ts';
import { isRegular, isStandby, isSurge, type VmView } from '../../views/vm.ts';
import type { VmiView } from '../../views/vmi.ts';

/** How VMs count in a disruption budget. */
export interface Counts {
  /** VMs that should run. */
  expected: number;
  /** VMs that serve, and will for as long as nothing is done to them. */
  available: number;
  /** VMs that migrate, if the budget counts these apart. */
  migrating: number;
}

const counts = (expected: number, available: number, migrating: number): Counts =>
  Object.freeze({ expected, available, migrating });

/** Shared by all VMs that count alike: a worker keeps one for each VM of each budget. */
const SHARED = [0, 1].map((expected) =>
  [0, 1].map((available) => [0, 1].map((migrating) => counts(expected, available, migrating))),
);
export const NOT_COUNTED = SHARED[0]![0]![0]!;

export const add = (total: Counts, { expected, available, migrating }: Counts, times: 1 | -1): void => {
  total.expected += times * expected;
  total.available += times * available;
  total.migrating += times * migrating;
};

/**
 * Returns how a VM counts. A VM that its owner has stopped is neither expected nor available, and so is one that stands
 * by or leaves. An extra VM stands in for others: it is available, and not expected.
 */
export function countsOf(vm: VmView, vmi: VmiView | undefined, areMigrationsApart: boolean): Counts {
  if (!isActive(vm) || isStandby(vm) || !isMeantToRun(vm, vmi)) return NOT_COUNTED;
  const migrates = isMigrating(vmi);
  const serves = isReady(vm, vmi) && vmi?.nodeLost !== true && !isRestarting(vm, vmi);
  const available = serves && (areMigrationsApart || !migrates);
  return SHARED[isSurge(vm) ? 0 : 1]![Number(available)]![Number(areMigrationsApart && migrates)]!;
}

/** Whether nothing is lost if the VM goes down: no budget has it wait. */
export const isFree = (vm: VmView, vmi: VmiView | undefined): boolean =>
  servesNobody(vm, vmi) || !isActive(vm) || isStandby(vm) || !isMeantToRun(vm, vmi);

/** Whoever migrates it. */
const isMigrating = (vmi: VmiView | undefined): boolean => vmi != null && (vmi.migration !== null || isEvacuating(vmi));

/** What keeps VMs at a number, so that it is known how many are missing. */
export type VmKeeper = StoredPool | StoredReplicaSet;

/** The labels that VMs made by it have in their own metadata. */
export const labelsMadeBy = ({ kind, metadata, spec }: VmKeeper): Readonly<Record<string, string>> => ({
  ...spec.template.metadata?.labels,
  ...(kind === 'VirtualMachineReplicaSet' ? {} : { [POOL_LABEL]: metadata.name }),
});

/** How many of its VMs there should be and are not: they should run, if VMs made by it start by themselves. */
export function missingOf({ metadata, spec }: VmKeeper, vms: readonly VmView[]): number {
  if (metadata.deletionTimestamp !== undefined || !runsByItself(spec.template)) return 0;
  return Math.max(spec.replicas - vms.filter(isPresent).length, 0);
}

/** Whether the VM is one of those that its pool or set is to have. */
const isPresent = (vm: VmView): boolean => isRegular(vm) && isActive(vm);
