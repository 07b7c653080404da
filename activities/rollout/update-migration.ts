import type { VmTemplate } from '../../api/pool/pool.ts';
import { BY_KUBEVIRT } from '../../decisions/disruption-budget/any-vms/places.ts';
import type { BatchVm } from '../../decisions/owners/batch.ts';
import { mayMigrateFor } from '../../decisions/vm-update/disruption.ts';
import { liveProgress } from '../../decisions/vm-update/live-update.ts';
import type { Look, Made } from './vm-targets.ts';

/** Which migration is instead of an end of the VMI. */
export function migrationBy({ act, migration }: BatchVm): { migration?: number } {
  if (act === 'live') return { migration: BY_KUBEVIRT };
  return migration === undefined ? {} : { migration: migration.attempt };
}

/** Whether KubeVirt may migrate the VMI for what was written to its VM, or still has to for an earlier write. */
export const mayMigrate = ({ vm, view, own }: Look, { merged }: Made): boolean =>
  mayMigrateFor(vm as VmTemplate, merged as VmTemplate) ||
  own === undefined ||
  liveProgress(view, own).state !== 'done';
