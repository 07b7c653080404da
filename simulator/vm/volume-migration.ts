import { isTrue, timestamp, withCondition, withoutCondition } from '../objects/conditions.ts';
import type {
  TimedCondition,
  VirtualMachine,
  VirtualMachineInstance,
  VirtualMachineStatus,
  Volume,
} from '../objects/kubevirt.ts';
import { isFinal } from '../objects/vmi.ts';

/** KubeVirt's condition of a VM, and of a VMI, whose volumes are being moved to other claims. */
export const VOLUMES_CHANGE = 'VolumesChange';
/** KubeVirt's condition of a VM whose VMI ended meanwhile: some of its volumes name claims that were never filled. */
const MANUAL_RECOVERY_REQUIRED = 'ManualRecoveryRequired';

/** KubeVirt's words for a start or restart of such a VM. */
export const WHY_NO_START =
  'VM recovery required: Volume migration failed, leaving some volumes pointing to non-consistent targets; manual intervention is needed to reassign them to their original volumes.';

/** Reports whether KubeVirt doesn't start the VM before a user has corrected its volumes. */
export const needsRecovery = (vm: VirtualMachine): boolean => isTrue(vm, MANUAL_RECOVERY_REQUIRED);

/** Reports whether a VM without a running VMI needs recovery, or comes to need it in this pass. */
export const startsUnrecovered = (vm: VirtualMachine): boolean =>
  needsRecovery(vm) || needsRecovery({ ...vm, status: { ...withVolumeMigration(vm, undefined, [], 0) } });

type VolumeStatus = Pick<VirtualMachineStatus, 'conditions' | 'volumeUpdateState'>;

/**
 * Returns what a pass changes of a VM's conditions, and of its volumes' migration in its status. A VM that
 * names all its old claims again has recovered.
 */
export function withVolumeMigration(
  vm: VirtualMachine,
  vmi: VirtualMachineInstance | undefined,
  conditions: TimedCondition[],
  now: number,
): VolumeStatus {
  const { volumeUpdateState, conditions: before = [] } = vm.status ?? {};
  if (volumeUpdateState?.volumeMigrationState == null) return { conditions };
  if (namesOldClaims(vm)) {
    const { volumeMigrationState: _over, ...rest } = volumeUpdateState;
    const remaining = [VOLUMES_CHANGE, MANUAL_RECOVERY_REQUIRED].reduce<TimedCondition[]>(withoutCondition, conditions);
    return { conditions: remaining, volumeUpdateState: rest };
  }
  const kept = before.filter(({ type }) => type === VOLUMES_CHANGE).reduce<TimedCondition[]>(withCondition, conditions);
  if ((vmi !== undefined && !isFinal(vmi)) || !isTrue({ status: { conditions: kept } }, VOLUMES_CHANGE))
    return { conditions: kept };
  const required: TimedCondition = {
    type: MANUAL_RECOVERY_REQUIRED,
    status: 'True',
    reason: 'VMI was removed or was final during the volume migration',
    lastProbeTime: null,
    lastTransitionTime: timestamp(now),
  };
  return { conditions: withCondition(kept, required) };
}

/** Reports whether each volume that is migrated names the claim that it had before. */
function namesOldClaims({ spec, status }: VirtualMachine): boolean {
  const migrated = new Map(
    (status?.volumeUpdateState?.volumeMigrationState?.migratedVolumes ?? []).map((volume) => [
      volume.volumeName,
      volume.sourcePVCInfo?.claimName,
    ]),
  );
  const found = (spec.template.spec.volumes ?? []).filter(({ name }) => migrated.get(name) !== undefined);
  return found.length > 0 && found.every((volume) => claimOf(volume) === migrated.get(volume.name));
}

const claimOf = ({ persistentVolumeClaim, dataVolume }: Volume): string | undefined =>
  persistentVolumeClaim?.claimName ?? dataVolume?.name;
