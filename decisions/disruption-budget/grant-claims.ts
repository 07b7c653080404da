import type { DisruptedVm } from '../../api/pool/pool.ts';
import { isActive, liveVmi, servesNobody, type VmiOf } from '../health/availability.ts';
import type { VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';
import { DisruptionBudget } from './budget.ts';
import type { ClaimContext } from './claims.ts';

/** Most claims in one pool's status. */
const MAX_CLAIMS = 1_000;

/** A VM that a user wants to disrupt, as it is now. */
export interface Ask {
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
  /** Null if an ask is granted; otherwise why it is not. */
  answers: (string | null)[];
}

/**
 * Decides which VMs may be disrupted now, in the order of the requests, so that at most `maxUnavailable` VMs are down.
 */
export function grantClaims(
  context: ClaimContext,
  active: readonly DisruptedVm[],
  asks: readonly Ask[],
  at: string,
): Claimed {
  const { pool } = context;
  const asked = new Map(asks.map((ask) => [ask.vm.name, ask]));
  const vms = context.vms.filter(isActive).map((vm) => asked.get(vm.name)?.vm ?? vm);
  const vmiOf: VmiOf = (vm) => (asked.has(vm.name) ? asked.get(vm.name)!.vmi : context.vmiOf(vm));
  const claims = new Map(active.map((claim) => [claim.vm, claim]));
  const budget = new DisruptionBudget({ pool, vms, vmiOf, acting: [], claimed: claims.keys(), now: Date.parse(at) });
  const answers = asks.map((ask): string | null => {
    const { name } = ask.vm;
    const held = claims.get(name);
    const live = liveVmi(ask.vmi);
    if (held !== undefined && held.by !== ask.by && live?.uid === held.vmi && live?.ready === true)
      return `${held.by} is about to disrupt it`;
    // An existing claim is not a permission to act: other VMs may have failed since.
    if (!servesNobody(ask.vm, ask.vmi) && !budget.stillAdmits(ask.vm)) return budget.whyFull();
    if (held === undefined && claims.size >= MAX_CLAIMS) return `${MAX_CLAIMS} are being disrupted already`;
    budget.take(ask.vm);
    claims.set(name, claimOf(ask, live, at));
    return null;
  });
  return { claims: [...claims.values()], answers };
}

const claimOf = ({ vm, vmi, by, migration }: Ask, live: VmiView | undefined, at: string): DisruptedVm => ({
  vm: vm.name,
  ...(live === undefined ? {} : { vmi: live.uid }),
  by,
  at,
  ...(migration === undefined ? {} : { migration }),
  minVersions: { vms: vm.resourceVersion, ...(vmi === undefined ? {} : { vmis: vmi.resourceVersion }) },
});
