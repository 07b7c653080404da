import type { DisruptionReason } from '../../api/budgets/budget.ts';
import type { Purpose } from '../../decisions/disruption-budget/any-vms/places.ts';
import { namespacedName } from '../../decisions/disruption-budget/restart-budget.ts';
import type { PowerAction } from '../../decisions/power/action.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { claimant, NotAdmitted } from '../disruption-budget/claim.ts';
import type { BudgetLook, DisruptionClaims } from '../disruption-budget/disruption-claims.ts';
import { Refusals } from '../disruption/refusals.ts';

export interface HeldVmsOptions {
  claims: DisruptionClaims;
  cache: Pick<ClusterCache, 'vmiOf' | 'nodes'>;
  action: PowerAction;
  /** What the VMs are disrupted for, as budgets name it, see `purposeOf`; by default, what the action is called. */
  disruptsFor?: DisruptionReason;
  /** Whether VMs wait for no budget but that of their pool. */
  pastBudgets: boolean;
}

/** VMs that a run may not act on at this moment: budgets have no room for them, or they were refused a moment ago. */
export class HeldVms {
  readonly #in: HeldVmsOptions;
  readonly #refusals = new Refusals();
  /** What budgets said at that time. */
  #look: (BudgetLook & { now: number }) | undefined;

  constructor(options: HeldVmsOptions) {
    this.#in = options;
  }

  /** When VMs that were refused may be tried again, in milliseconds since the epoch. */
  get times(): number[] {
    return this.#refusals.times;
  }

  /** Whether VMs wait for the windows of a budget. */
  isTimed(now: number): boolean {
    return this.#refusals.isTimed(now);
  }

  /** Why the VM, or another of its budgets, was refused a moment ago, or would be; null if it may be tried. */
  whyNot(vm: VmView, now: number): string | null {
    const known = this.#refusals.whyNot(namespacedName(vm), now) ?? this.#refusals.whyNot(vm.owner?.uid ?? '', now);
    return known ?? this.#whyFull(vm, now);
  }

  /** Why the budgets that select the VM would refuse it, by what this worker knows. */
  #whyFull(vm: VmView, now: number): string | null {
    const { action, claims, cache } = this.#in;
    // Whether a change disrupts the VM is known once that is read.
    if (action === 'Start' || action === 'Patch') return null;
    const vmi = cache.vmiOf(vm);
    const migration = action === 'Migrate' ? (vmi?.evacuation?.attempt ?? 0) + 1 : undefined;
    const known = (budget: string): string | null => this.#refusals.whyNot(budget, now);
    if (this.#look?.now !== now) this.#look = { ...claims.look(), now };
    const refusal = this.#look.whyNot({ vm, vmi, migration, by: claimant(), ...this.purposeOf(vmi) }, known);
    if (refusal === null) return null;
    const { budget, message, opensAt = null } = refusal;
    if (known(budget) === null) this.#refusals.add(budget, message, opensAt);
    return message;
  }

  /**
   * What the VM is disrupted for. Any user who may make an operation can label it as one of a drain: it is one for VMs
   * on nodes that are drained.
   */
  purposeOf(vmi: VmiView | undefined): Purpose {
    const { action, cache, disruptsFor, pastBudgets } = this.#in;
    const own = action === 'Patch' || action === 'Start' ? 'Change' : action;
    const past = pastBudgets ? { pastBudgets } : {};
    if (disruptsFor !== 'Drain') return { reason: disruptsFor ?? own, ...past };
    if (!cache.nodes.synced || cache.nodes.missing !== null) return { reason: own, maybeFor: 'Drain', ...past };
    return { reason: vmi?.nodeDrained === true || vmi?.podNodeCordoned === true ? 'Drain' : own, ...past };
  }

  /** Notes what has refused: a budget, or else the VM, or its owner. */
  refusedBy(refused: NotAdmitted, key: string, owner = key): NotAdmitted {
    const { budget, whyNot } = refused;
    this.#refusals.add(budget?.uid ?? owner, whyNot, budget?.opensAt);
    // Which budgets hold up a change is known once its VM is read, which would be at once.
    if (this.#in.action === 'Patch') this.#refusals.add(key, whyNot, budget?.opensAt);
    return refused;
  }

  refused(key: string, message: string): NotAdmitted {
    return this.refusedBy(new NotAdmitted(message), key);
  }
}
