import { standbyRules } from '../../api/pool-defaults.ts';
import type { PoolStatus } from '../../api/pool/pool.ts';
import { isActive, isReady, type VmiOf } from '../disruption-budget/availability.ts';
import type { StoredPool } from '../views/pool.ts';
import { isFailing, isHalted, type VmView } from '../views/vm.ts';

export type StandbyVm = VmView & { role: 'Standby' };

export const isStandby = (vm: VmView): vm is StandbyVm => vm.role === 'Standby';

/** Reports whether only a start, or less, lies between a standby VM and a replica that runs. */
export function isPromotable(vm: StandbyVm, vmiOf: VmiOf): boolean {
  if (isFailing(vm)) return false;
  const vmi = vmiOf(vm);
  return isReady(vm, vmi) || isPaused(vm, vmiOf) || (isHalted(vm) && vm.state === 'Stopped');
}

/** A failure to create standby VMs throttles only their creation: replicas have priority. */
export const withAllowances = <Input extends { failure: { reason: string } | null; allowance: number; burst: number }>(
  input: Input,
): Input & { standbyAllowance: number } => ({
  ...input,
  allowance: input.failure?.reason === 'FailedStandby' ? input.burst : input.allowance,
  standbyAllowance: input.allowance,
});

/** Reports whether standby VMs are missing, or are not in the state that the pool wants. */
export function isStandbyUndone({ spec }: StoredPool, vms: readonly VmView[], vmiOf: VmiOf): boolean {
  const { replicas, state } = standbyRules(spec);
  const standby = vms.filter(isStandby);
  const isToBePaused = (vm: StandbyVm): boolean => state === 'Paused' && isReady(vm, vmiOf(vm)) && !isPaused(vm, vmiOf);
  return (
    standby.length < replicas ||
    standby.some((vm) => isActive(vm) && !vm.optedOut && (vm.standby !== state || isToBePaused(vm)))
  );
}

const isPaused = (vm: StandbyVm, vmiOf: VmiOf): boolean => vmiOf(vm)?.paused === true;

/** The counts of a pool's status, if it has standby VMs, wants some, or had some when it was last written. */
export function standbyStatus(
  { spec, status }: StoredPool,
  vms: readonly VmView[],
  vmiOf: VmiOf,
): Pick<PoolStatus, 'standbyReplicas' | 'readyStandbyReplicas'> {
  const standby = vms.filter(isStandby).filter((vm) => !vm.deleting);
  if (spec.standby === undefined && standby.length === 0 && status?.standbyReplicas === undefined) return {};
  const ready = standby.filter((vm) => isActive(vm) && isPromotable(vm, vmiOf));
  return { standbyReplicas: standby.length, readyStandbyReplicas: ready.length };
}

/** VMs that are being promoted count as the replicas that they become: a cache shows that a moment later. */
export const promotedAhead = (vms: readonly VmView[], creating: readonly string[]): readonly VmView[] => {
  if (!vms.some(isStandby)) return vms;
  const names = new Set(creating);
  return vms.map((vm) => (isStandby(vm) && names.has(vm.name) ? { ...vm, role: null } : vm));
};
