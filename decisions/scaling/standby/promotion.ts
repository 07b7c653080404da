import { isActive, isReady, liveVmi } from '../../health/availability.ts';
import { byNumber } from '../../lib/names.ts';
import { compareRanks } from '../../lib/ranks.ts';
import { refusedOf } from '../../owners/failures.ts';
import type { PlanInput } from '../../owners/plan-input.ts';
import { refusedLast } from '../../owners/refused-vms.ts';
import { isFailing, isStandby, type StandbyVm } from '../../views/vm.ts';
import { isPromotable } from './standby.ts';

type PromotionInput = Pick<PlanInput, 'vms' | 'vmiOf' | 'inProgress' | 'batches' | 'burst' | 'backoffs'> & {
  /** Names of VMs that are being healed. */
  unhealthy: ReadonlySet<string>;
  /** The revision that VMs are brought to. */
  target: string;
  /** Whether users want the VM removed. */
  isNamed: (vm: StandbyVm) => boolean;
};

interface Promotion {
  /** VMs that are promoted now. */
  now: StandbyVm[];
  /** How many can be promoted in a moment: no VM is created in their places. */
  soon: number;
}

/**
 * Returns the standby VMs that become replicas, the best first, when `missing` replicas are missing: VMs that only have
 * to start before VMs whose disks are still being filled, VMs of the newest revision before others, running VMs before
 * paused or stopped ones. A VM that fails, or is on a node that does not answer, would not help.
 */
export function chooseToPromote(input: PromotionInput, missing: number): Promotion {
  const { vms, vmiOf, inProgress, batches, unhealthy, target, isNamed } = input;
  const busy = new Set([...inProgress.creating, ...inProgress.deleting, ...(inProgress.standby ?? []), ...unhealthy]);
  for (const { name } of batches.flatMap((batch) => batch.vms).filter(({ act }) => act === 'replace')) busy.add(name);
  const isOfUse = (vm: StandbyVm): boolean => isActive(vm) && !isFailing(vm) && vmiOf(vm)?.nodeLost !== true;
  const rankOf = (vm: StandbyVm): number[] => {
    const vmi = liveVmi(vmiOf(vm));
    const isUpdated = vm.revision === target && (vmi?.revision ?? target) === target;
    return [Number(!isPromotable(vm, vmiOf)), Number(!isUpdated), Number(!isReady(vm, vmi)), Number(vmi === undefined)];
  };
  const free = vms
    .filter(isStandby)
    .filter((vm) => isOfUse(vm) && !busy.has(vm.name) && !isNamed(vm))
    .map((vm) => ({ vm, rank: rankOf(vm) }))
    .toSorted((a, b) => compareRanks(a.rank, b.rank) || byNumber(a.vm.name, b.vm.name))
    .map(({ vm }) => vm);
  // Those that wait after a failure stand for no VM that is missing: one is created in their place.
  const most = Math.min(missing, input.backoffs.FailedPromote?.allowance ?? Infinity);
  const tried = refusedLast(free, ({ name }) => name, refusedOf(input, 'FailedPromote')).slice(0, Math.max(most, 0));
  const remaining = Math.max(input.burst - inProgress.creating.length, 0);
  const settling = vms.filter(isStandby).filter((vm) => isOfUse(vm) && inProgress.standby?.includes(vm.name) === true);
  return { now: tried.slice(0, remaining), soon: tried.slice(remaining).length + settling.length };
}
