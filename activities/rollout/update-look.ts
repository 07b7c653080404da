import { BY_KUBEVIRT } from '../../decisions/disruption-budget/any-vms/places.ts';
import type { Refusal } from '../../decisions/disruption/held.ts';
import type { BatchVm } from '../../decisions/owners/batch.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import { claimant } from '../disruption-budget/claim.ts';
import type { DisruptionClaims } from '../disruption-budget/disruption-claims.ts';

/** Which migration is instead of an end of the VMI. */
export function migrationBy({ act, migration }: BatchVm): { migration?: number } {
  if (act === 'live') return { migration: BY_KUBEVIRT };
  return migration === undefined ? {} : { migration: migration.attempt };
}

/** Returns what the budgets that select VMs of a batch say now, by what this worker knows. */
export function updateLook(
  claims: DisruptionClaims,
  known: (budget: string) => string | null,
): (item: BatchVm, vm: VmView, vmi: VmiView | undefined) => Refusal | null {
  const look = claims.look();
  const by = claimant();
  return (item, vm, vmi) => look.whyNot({ vm, vmi, by, reason: 'Rollout', ...migrationBy(item) }, known);
}
