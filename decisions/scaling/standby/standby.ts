import type { PoolStatus } from '../../../api/pool/pool.ts';
import { isPausedOnRequest } from '../../disruption/pause.ts';
import { isActive, isReady, type VmiOf } from '../../health/availability.ts';
import type { StoredPool } from '../../views/pool.ts';
import { isFailing, isHalted, isStandby, type VmView, type StandbyVm } from '../../views/vm.ts';

/** Reports whether only a start, or less, lies between a standby VM and a replica that runs. */
export function isPromotable(vm: StandbyVm, vmiOf: VmiOf): boolean {
  const vmi = vmiOf(vm);
  if (isFailing(vm) || vmi?.nodeLost === true) return false;
  return isReady(vm, vmi) || isPaused(vm, vmiOf) || (isHalted(vm) && vm.state === 'Stopped');
}

const isPaused = (vm: StandbyVm, vmiOf: VmiOf): boolean => isPausedOnRequest(vmiOf(vm));

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
