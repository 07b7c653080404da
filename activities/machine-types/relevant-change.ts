import type { TransitionRules } from '../../decisions/machine-types/criteria.ts';
import { templateTypeOf } from '../../decisions/machine-types/pool-state.ts';
import { recordOf } from '../../decisions/machine-types/record.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import type { Changed } from '../cache/changes.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { looksTheSame } from '../watch/affected-pools.ts';

/** Returns a test for whether a change concerns the transition. It looks at what has changed, not at all other VMs. */
export function isRelevantToTransition(
  cache: ClusterCache,
  { ref, transition, scope }: TransitionRules,
): (changed: Changed) => boolean {
  const { undoes } = transition.scope;
  const isOurs = (id: string | undefined | null): boolean => id === ref.id || (id !== null && id === undoes);
  const isRelevant = (vm: VmView, vmi: VmiView | undefined): boolean => {
    if (isOurs(vm.transitionMark)) return true;
    const isOld =
      isOurs(vm.transition?.id) ||
      scope.isOld(vm.machineType) ||
      (vmi !== undefined && scope.isOld(vmi.machineType ?? vmi.specMachineType));
    return isOld && scope.chooses(vm);
  };
  const affectsPool = (pool: StoredPool): boolean =>
    isOurs(recordOf(pool.metadata.annotations)?.id) ||
    scope.isOld(templateTypeOf(pool)) ||
    cache.vms.ownedBy('VirtualMachinePool', pool.metadata).some((vm) => isRelevant(vm, cache.vmiOf(vm)));
  return ({ namespace, name, change }) => {
    switch (change.kind) {
      case 'pool':
        return [change.before, change.after].some((pool) => pool !== undefined && affectsPool(pool));
      case 'vm':
        return (
          !looksTheSame(change.before, change.after) &&
          [change.before, change.after].some((vm) => vm !== undefined && isRelevant(vm, cache.vmiOf(vm)))
        );
      case 'vmi': {
        const vm = cache.vms.get(`${namespace}/${name}`);
        return (
          vm !== undefined &&
          !looksTheSame(change.before, change.after) &&
          [change.before, change.after].some((vmi) => isRelevant(vm, vmi))
        );
      }
    }
  };
}
