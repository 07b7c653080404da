import { CAPS } from '../../api/lib/caps.ts';
import type { DisruptedVm } from '../../api/pool/pool.ts';
import { isActive, liveVmi, servesNobody, type VmiOf } from '../health/availability.ts';
import type { VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';
import { DisruptionBudget } from './budget.ts';
import type { ClaimContext } from './claims.ts';

/** A VM that a user wants to disrupt, as it is now. */
export interface ClaimRequest {
  vm: VmView;
  vmi: VmiView | undefined;
  /** ID of the workflow that asks. */
  by: string;
  /** Which migration by drover it asks for; absent if its VMI is to end. */
  migration?: number | undefined;
}

interface Claimed {
  /** The claims to write to the pool's status: existing and newly granted ones. */
  claims: DisruptedVm[];
  /** Null if a request is granted; otherwise why it is not. */
  answers: (string | null)[];
}

/**
 * Decides which VMs may be disrupted now, in the order of the requests, so that at most `maxUnavailable` VMs are down.
 */
export function grantClaims(
  context: ClaimContext,
  active: readonly DisruptedVm[],
  requests: readonly ClaimRequest[],
  at: string,
): Claimed {
  const { pool } = context;
  const requestByVm = new Map(requests.map((request) => [request.vm.name, request]));
  const vms = context.vms.filter(isActive).map((vm) => requestByVm.get(vm.name)?.vm ?? vm);
  const vmiOf: VmiOf = (vm) => (requestByVm.has(vm.name) ? requestByVm.get(vm.name)!.vmi : context.vmiOf(vm));
  const claims = new Map(active.map((claim) => [claim.vm, claim]));
  const budget = new DisruptionBudget({ pool, vms, vmiOf, acting: [], claimed: claims.keys(), now: Date.parse(at) });
  const answers = requests.map((request): string | null => {
    const { name } = request.vm;
    const existing = claims.get(name);
    const live = liveVmi(request.vmi);
    if (existing !== undefined && existing.by !== request.by && live?.uid === existing.vmi && live?.ready === true)
      return `${existing.by} is about to disrupt it`;
    // An existing claim is not a permission to act: other VMs may have failed since.
    if (!servesNobody(request.vm, request.vmi) && !budget.stillAdmits(request.vm)) return budget.whyFull();
    if (existing === undefined && claims.size >= CAPS.claims) return `${CAPS.claims} are being disrupted already`;
    budget.charge(request.vm);
    claims.set(name, claimOf(request, at));
    return null;
  });
  return { claims: [...claims.values()], answers };
}

const claimOf = ({ vm, vmi, by, migration }: ClaimRequest, at: string): DisruptedVm => ({
  vm: vm.name,
  ...(vmi === undefined ? {} : { vmi: vmi.uid }),
  by,
  at,
  ...(migration === undefined ? {} : { migration }),
  minVersions: { vms: vm.resourceVersion, ...(vmi === undefined ? {} : { vmis: vmi.resourceVersion }) },
});
