import type { VmiOf } from '../health/availability.ts';
import type { StandbyVm } from '../views/vm.ts';
import { updateNeed, type RolloutTarget, type UpdateNeed } from '../vm-update/need.ts';

/**
 * The target of standby VMs: the pool's limit is for VMs that serve, and a restart of a standby VM disturbs no service.
 * Their disks may hold what an earlier VM of their number has left, and are replaced only if the pool allows that.
 */
export const standbyTarget = (target: RolloutTarget): RolloutTarget => ({
  ...target,
  limit: target.limit === 'Replace' ? 'Replace' : 'Restart',
});

/** A paused VMI can't be changed while it runs, since that takes a migration. */
export function standbyNeed(vm: StandbyVm, vmiOf: VmiOf, target: RolloutTarget): UpdateNeed {
  const need = updateNeed(vm, vmiOf, target);
  return need.need === 'act' && need.act === 'live' ? { ...need, act: 'restart' } : need;
}
