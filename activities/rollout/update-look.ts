import type { VmTemplate } from '../../api/pool/pool.ts';
import type { Labels } from '../../decisions/disruption-budget/any-vms/budget-index.ts';
import { BY_KUBEVIRT } from '../../decisions/disruption-budget/any-vms/places.ts';
import type { Refusal } from '../../decisions/disruption/held.ts';
import type { BatchVm } from '../../decisions/owners/batch.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import { mayMigrateFor } from '../../decisions/vm-update/disruption.ts';
import { liveProgress } from '../../decisions/vm-update/live-update.ts';
import { claimant } from '../disruption-budget/claim.ts';
import type { DisruptionClaims } from '../disruption-budget/disruption-claims.ts';
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

/**
 * Returns what the budgets that select VMs of a batch say now, by what this worker knows. `becomes`: the labels that
 * VMs get, by name.
 */
export function updateLook(
  claims: DisruptionClaims,
  known: (budget: string) => string | null,
  becomes: ReadonlyMap<string, Labels>,
): (item: BatchVm, vm: VmView, vmi: VmiView | undefined) => Refusal | null {
  const look = claims.look();
  const by = claimant();
  return (item, vm, vmi) =>
    look.whyNot({ vm, vmi, by, reason: 'Rollout', becomes: becomes.get(item.name), ...migrationBy(item) }, known);
}
