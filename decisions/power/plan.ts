import type { MaintenanceWindow, SelectionPolicy } from '../../api/pool/pool.ts';
import { CountedVms } from '../disruption-budget/counted-vms.ts';
import { namespacedName, RunBudget, type Chosen, type VmsSnapshot } from '../disruption-budget/restart-budget.ts';
import { graceOf } from '../disruption/grace.ts';
import { excluded, type Need } from '../disruption/need.ts';
import { liveVmi } from '../health/availability.ts';
import { whyClosed, windowAt } from '../lib/maintenance-windows.ts';
import { formatNames } from '../lib/names.ts';
import { compareRanks } from '../lib/ranks.ts';
import { inShort, SkippedVms, type Skipped } from '../runs/skipped.ts';
import { policyRank } from '../scaling/selection-order.ts';
import type { VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';
import type { PowerAction } from './action.ts';
import { powerNeed } from './need.ts';
import type { VmInProgress } from './outcome.ts';
import { isAboutVmi } from './target.ts';

/** How many full budgets are reported: each of thousands of VMs may belong to another pool. */
const MAX_FULL_BUDGETS = 40;

export interface PowerPlanInput {
  action: PowerAction;
  /** What is to be acted on: see `PowerContext`. */
  chosen: Chosen;
  snapshot: VmsSnapshot;
  /** The chosen VMs, as the limit counts them; by default as the snapshot has them now. */
  counted?: CountedVms;
  /** VMs that are acted on, or on their way, by `namespace/name`. */
  inProgress: ReadonlySet<string>;
  /** VMs not to be taken again, by `namespace/name`. */
  ended: ReadonlySet<string>;
  /** Why the VM is to be left as it is, whatever comes; null if it may be taken some time. */
  whyExcluded: (vm: VmView, vmi: VmiView | undefined) => string | null;
  /** Why the VM is not to be taken at this moment; null if it may be. */
  whyNot: (vm: VmView) => string | null;
  /**
   * How many VMs may be in progress at once; of a restart, how many may be not ready at once, whatever the cause.
   */
  atOnce: number;
  /** Whether VMs that are changed may be restarted for that. */
  restarts?: boolean;
  /** Whether more VMs may be taken. */
  mayStart: boolean;
  /** VMs are taken only inside one of these. */
  windows?: readonly MaintenanceWindow[];
  /** Which of them are taken first; scattered if absent. */
  order?: SelectionPolicy | undefined;
  /** Milliseconds since the epoch. */
  now: number;
}

export interface PowerPlan {
  admitted: AdmittedVm[];
  /**
   * How many VMs something is still to be done to, without those in progress. Includes those in `admitted`, excludes
   * VMs that are left as they are.
   */
  open: number;
  skipped: Skipped[];
  /** Which limits are reached, so that VMs wait; a few words each. */
  full: string[];
  /** When the window opens that VMs wait for, in milliseconds since the epoch; null if they wait for none. */
  opensAt: number | null;
}

/** A VM that may be acted on now. */
export type AdmittedVm = Omit<VmInProgress, 'since'>;

/** Picks the next VMs: never more than the limits allow. */
export function planPower(input: PowerPlanInput): PowerPlan {
  const { action, chosen, snapshot, inProgress, mayStart, atOnce, restarts = false, windows = [], now } = input;
  const { free, open, skipped } = openVms(input);
  if (!mayStart || open === 0) return { admitted: [], full: [], open, skipped, opensAt: null };
  const window = windowAt(windows, now);
  if (!window.open) {
    const full = [whyClosed(window, windows, 'spec.windows')];
    return { admitted: [], full, open, skipped, opensAt: window.next };
  }
  // A user who asks for a start or a stop asks for no availability.
  const keepsAvailable = isAboutVmi(action) || restarts;
  const { counted = new CountedVms(chosen, snapshot) } = input;
  const budget = new RunBudget({ keepsAvailable, counted, snapshot, inProgress, most: atOnce, now });
  return { ...admitVms(input, inOrder(free, budget, input), budget), open, skipped, opensAt: null };
}

/**
 * Returns the chosen VMs that may be acted on, and counts the VMs that still need something. VMs that have been in
 * progress are not acted on again: a user may have undone it since.
 */
function openVms(input: PowerPlanInput): Pick<PowerPlan, 'open' | 'skipped'> & { free: VmView[] } {
  const { chosen, snapshot, ended, inProgress, whyNot } = input;
  const free: VmView[] = [];
  const skipped = new SkippedVms();
  let open = 0;
  for (const [key, target] of chosen) {
    if (inProgress.has(key) || ended.has(key)) continue;
    const vm = snapshot.vmOf(key);
    const need = needOf(input, target, vm);
    if (need.need === 'excluded' || need.need === 'deferred') skipped.add(key, need.message, need.need === 'excluded');
    if (need.need === 'deferred' || need.need === 'act') open++;
    const message = need.need === 'act' ? whyNot(vm!) : null;
    if (message !== null) skipped.add(key, message, false);
    else if (need.need === 'act') free.push(vm!);
  }
  return { free, open, skipped: inShort(skipped.all) };
}

function needOf({ action, snapshot, whyExcluded }: PowerPlanInput, target: string, vm: VmView | undefined): Need {
  const vmi = vm && snapshot.vmiOf(vm);
  const need = powerNeed(action, { target, vm, vmi, owner: vm && snapshot.poolOf(vm) });
  const message = need.need === 'nothing' ? null : whyExcluded(vm!, vmi);
  return message === null ? need : excluded(message);
}

/** Takes these VMs while there is room, and says which limits are reached. */
export function admitVms(
  { action, snapshot }: Pick<PowerPlanInput, 'action' | 'snapshot'>,
  ordered: Iterable<VmView>,
  budget: RunBudget,
): Pick<PowerPlan, 'admitted' | 'full'> {
  const full = new Set<string>();
  const admitted: PowerPlan['admitted'] = [];
  for (const vm of ordered) {
    const message = budget.whyNot(vm);
    if (message === null) {
      const live = liveVmi(snapshot.vmiOf(vm));
      admitted.push({
        vm: namespacedName(vm),
        uid: vm.uid,
        ...(live !== undefined && { vmi: live.uid }),
        ...(action === 'Start' || action === 'Migrate' ? {} : graceOf(live)),
        ...(action === 'Migrate' && live !== undefined ? migrationOf(live) : {}),
        ...(budget.counts(vm) && { wasDown: true }),
      });
      budget.charge(vm);
    } else if (!full.has(message)) full.add(full.size < MAX_FULL_BUDGETS ? message : 'other pools are full too');
  }
  if (full.size > 0 && budget.downByThemselves.length > 0)
    full.add(`${formatNames(budget.downByThemselves)} not ready`);
  return { admitted, full: [...full] };
}

const migrationOf = ({ pod, evacuation }: VmiView): Pick<AdmittedVm, 'pod' | 'migration'> => ({
  ...(pod === null ? {} : { pod }),
  migration: (evacuation?.attempt ?? 0) + 1,
});

/**
 * Puts VMs that are already down first, which costs nothing more, then goes by the order that is asked for, and else
 * scatters VMs, so that no application goes down as a whole.
 */
export function inOrder(
  free: readonly VmView[],
  budget: RunBudget,
  { chosen, order }: Pick<PowerPlanInput, 'chosen' | 'order'>,
): VmView[] {
  const places = free.map((vm) => ({
    vm,
    rank: [budget.counts(vm) ? 0 : 1, ...policyRank(vm, order)],
    target: chosen.get(namespacedName(vm))!,
  }));
  return places.sort((a, b) => compareRanks(a.rank, b.rank) || (a.target < b.target ? -1 : 1)).map(({ vm }) => vm);
}
