import { BY_KUBEVIRT } from '../../decisions/disruption-budget/any-vms/places.ts';
import type { WhyHeld } from '../../decisions/disruption/held.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { claimant } from './claim.ts';
import type { DisruptionClaims } from './disruption-claims.ts';

/** Returns what a plan asks of the budgets that select VMs; undefined if there are no budgets. */
export function planLook(claims: DisruptionClaims, cache: Pick<ClusterCache, 'vmiOf'>): WhyHeld | undefined {
  if (!claims.areNeeded) return undefined;
  const look = claims.look();
  const by = claimant();
  return (vm: VmView, act, reason) => {
    const vmi = cache.vmiOf(vm);
    return look.whyNot({ vm, vmi, by, reason, migration: migrationFor(act, vmi) });
  };
}

function migrationFor(act: Parameters<WhyHeld>[1], vmi: VmiView | undefined): number | undefined {
  if (act === 'restart') return undefined;
  return act === 'live' ? BY_KUBEVIRT : (vmi?.evacuation?.attempt ?? 0) + 1;
}
