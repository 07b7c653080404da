import { REQUESTED_BY_ANNOTATION } from '../../api/labels-and-annotations.ts';
import { CAPS } from '../../api/lib/caps.ts';
import { listed } from '../../api/lib/listed.ts';
import type { RolloutStatus } from '../../api/pool/pool.ts';
import { requesterOf } from '../../api/requested-by.ts';
import { DisruptionBudget } from '../disruption-budget/budget.ts';
import { heldUntil, type Refusal, type WhyHeld } from '../disruption/held.ts';
import { isMeantToRun, activeVmi, type VmiOf } from '../health/availability.ts';
import { whyClosed, windowAt } from '../lib/maintenance-windows.ts';
import { formatNames } from '../lib/names.ts';
import type { BatchVm, PlannedBatch } from '../owners/batch.ts';
import { updateOrder } from '../scaling/selection-order.ts';
import { isRegular, type VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';
import type { RolloutTarget } from '../vm-update/need.ts';
import { blockedAt, type FullBudget } from './blocked.ts';
import type { Candidate } from './candidates.ts';
import type { VmsInProgress } from './in-progress.ts';
import type { RolloutContext } from './state/context.ts';
import { mayQueue } from './state/queue.ts';
import type { SurgeNeed } from './surge/need.ts';
import { surgeShortage } from './surge/shortage.ts';

/** Most VMs in one batch, whose names go with each plan. */
const MAX_IN_BATCH = 1_000;

/** How many changed Secrets and ConfigMaps the reason of a batch names. */
const CHANGES_NAMED = 3;

/** State of the rollout, and what holds it back. */
interface BatchContext {
  state: RolloutStatus;
  /** How many running VMs it may take before its next step; null without a limit. */
  stepRemaining: number | null;
  surge: SurgeNeed;
}

/**
 * Returns the VMs of the next batch: VMs that may be updated now, and VMs that follow as the disruption budget allows,
 * but not more than `stepRemaining` running ones. Null if none may be updated now, or VMs of a batch still wait.
 */
export function nextVms(
  context: RolloutContext,
  target: RolloutTarget,
  free: readonly Candidate[],
  inProgress: VmsInProgress,
  { stepRemaining, state, surge }: BatchContext,
): Candidate[] | null {
  const { pool, vms, vmiOf, queued, evacuating, now } = context.input;
  const acting = [...inProgress.unsettled, ...evacuating];
  const budget = new DisruptionBudget({ pool, vms, vmiOf, acting, now });
  // Standby VMs first: what they show about the new revision costs no service.
  const standby = free.filter(({ vm }) => !isRegular(vm));
  const isStandbyFirst = standby.length > 0 || inProgress.all.size > inProgress.regular.size;
  const candidates = inOrder(context, isStandbyFirst ? standby : free, stepRemaining === null ? null : target.revision);
  const limits = { budget: Math.max(budget.remaining, 0), toStep: stepRemaining };
  const { chosen, paid, hasMore, held } = choose(context, candidates, { ...limits, pays: () => true });
  const wait = queued.filter((item) => item.revision === target.revision).length;
  if (chosen.length === 0 && (hasMore || (wait > 0 && limits.budget === 0))) {
    const blockedBy = surgeShortage(context, surge, budget.availableSurge, state);
    sayFull(context, state, { budget, blockedBy });
  } else if (chosen.length === 0 && held !== null) {
    context.waits.for('Budget', held.message);
    context.waits.requeue(heldUntil(held, now));
  }
  if (chosen.length === 0 || isTooEarly(context) || context.input.batches.length >= CAPS.batches) return null;
  // VMs that go down without a loss of service do not wait.
  if (wait > 0) return paid.size === chosen.length ? null : chosen.filter((one) => !paid.has(one));
  return choose(context, candidates, {
    ...limits,
    pays: ({ vm, act }) => !mayQueue({ act, from: vm.revision }, target.revision),
  }).chosen;
}

interface Limits {
  /** How many VMs may go down. */
  budget: number;
  /** How many running VMs may be taken before the next step; null without a limit. */
  toStep: number | null;
  /** Whether there must be a place for the VM now. */
  pays: (candidate: Candidate) => boolean;
}

interface Choice {
  chosen: Candidate[];
  /** Chosen VMs that the batch takes down, and that have a place in the budget now. */
  paid: Set<Candidate>;
  /** Whether others would have been taken but for the limits. */
  hasMore: boolean;
  /** Why budgets that select VMs have one of them wait; null if they do not. */
  held: Refusal | null;
}

function choose(
  { input: { vmiOf, whyHeld } }: RolloutContext,
  candidates: readonly Candidate[],
  limits: Limits,
): Choice {
  let { budget, toStep } = limits;
  const choice: Choice = { chosen: [], paid: new Set(), hasMore: false, held: null };
  for (const candidate of candidates) {
    const { vm, act, down } = candidate;
    // Before a step, only running VMIs say anything about the new revision.
    if (toStep !== null && isRegular(vm) && (toStep <= 0 || !isMeantToRun(vm, vmiOf(vm)))) continue;
    const refusal = whyHeldNow(whyHeld, candidate);
    if (refusal !== null) {
      choice.held ??= refusal;
      continue;
    }
    const costs = act !== 'write' && !down && limits.pays(candidate);
    if ((costs && budget <= 0) || choice.chosen.length >= MAX_IN_BATCH) {
      choice.hasMore = true;
      continue;
    }
    if (toStep !== null && isRegular(vm)) toStep--;
    choice.chosen.push(candidate);
    if (!costs) continue;
    budget--;
    choice.paid.add(candidate);
  }
  return choice;
}

/** Why budgets that select the VM have no room for what an update does to it. */
function whyHeldNow(whyHeld: WhyHeld | undefined, { vm, act, down }: Candidate): Refusal | null {
  if (whyHeld === undefined || act === 'write' || down) return null;
  return whyHeld(vm, act === 'replace' ? 'restart' : act, 'Rollout');
}

/** Says that the rollout waits for the budget, or that it is blocked by VMs that have been down for long. */
function sayFull(context: RolloutContext, state: RolloutStatus, { budget, blockedBy }: FullBudget): void {
  const { waits, input, spec } = context;
  const { againAt } = budget;
  const blocked = againAt === null ? blockedAt(context, { budget, blockedBy }, state) : null;
  const next = againAt ?? blocked;
  if (next !== null) waits.requeue(next);
  const isBlocked = blocked !== null && blocked <= input.now;
  const long = isBlocked ? `, for ${spec.rollout.progressDeadlineSeconds} s and longer` : '';
  const full = budget.format(`${whichAreDown(budget.names, input.batches.length > 0)}${long}`);
  waits.for(isBlocked ? 'Blocked' : 'Budget', [full, ...(blockedBy === null ? [] : [blockedBy.message])].join('; '));
}

function whichAreDown(names: ReadonlySet<string>, hasBatches: boolean): string {
  // While batches run, the names would change with every turn, and the status with them.
  if (hasBatches) return ' or being updated';
  return names.size === 0 ? '' : ` (${formatNames([...names])})`;
}

export function batchOf(
  context: RolloutContext,
  target: RolloutTarget,
  chosen: readonly Candidate[],
  { n, mayFail }: { n: number } & Pick<PlannedBatch, 'mayFail'>,
): PlannedBatch {
  const { pool, vmiOf } = context.input;
  const { minReadySeconds, progressDeadlineSeconds } = context.spec.rollout;
  const vms = chosen.map(({ vm, act, change, forPod, setsRight, down }): BatchVm => ({
    name: vm.name,
    uid: vm.uid,
    act,
    from: vm.revision,
    wasDown: isRegular(vm) && down,
    ...(vm.role === null ? {} : { role: vm.role }),
    ...(act === 'write' && activeVmi(vm, vmiOf(vm)) !== undefined ? { runs: true } : {}),
    ...(act === 'migrate' ? migrationFor(vmiOf(vm)!) : {}),
    ...(change !== undefined || (forPod && act === 'restart') ? restartedFor(vm, vmiOf, target) : {}),
    ...(setsRight ? { setsRight } : {}),
    ...(act === 'replace' && vm.runStrategy === 'Halted' ? { halted: true } : {}),
  }));
  return {
    batch: { n, revision: target.revision, rollout: context.newest, vms },
    requestedBy:
      target.revision === context.newest && !isForContent(chosen, vms)
        ? (requesterOf(pool.metadata.annotations?.[REQUESTED_BY_ANNOTATION], target.revision) ?? null)
        : 'drover',
    minReadyMs: minReadySeconds * 1000,
    deadlineMs: progressDeadlineSeconds * 1000,
    mayFail,
    reason: reasonOf(chosen, vms, target.revision),
  };
}

/** Reports whether the batch only restarts VMIs for what they have read: no user has requested that. */
const isForContent = (chosen: readonly Candidate[], vms: readonly BatchVm[]): boolean =>
  vms.every(({ vmi }, at) => vmi !== undefined && chosen[at]!.forPod !== true);

const migrationFor = ({ uid, evacuation }: VmiView): Pick<BatchVm, 'migration'> => ({
  migration: { vmi: uid, attempt: (evacuation?.attempt ?? 0) + 1 },
});

/** The VMI to restart even though it already has the right revision. */
function restartedFor(vm: VmView, vmiOf: VmiOf, { revision }: RolloutTarget): Pick<BatchVm, 'vmi'> {
  const vmi = activeVmi(vm, vmiOf(vm));
  return vmi === undefined || vm.revision !== revision || vmi.revision !== revision ? {} : { vmi: vmi.uid };
}

function reasonOf(chosen: readonly Candidate[], vms: readonly BatchVm[], revision: string): string {
  const names = formatNames(vms.map(({ name }) => name));
  const changes = new Set(chosen.flatMap(({ change }) => change?.what ?? []));
  const changed = listed([...changes].sort().slice(0, CHANGES_NAMED));
  if (isForContent(chosen, vms)) return `restart ${names}, since ${changed} changed`;
  const what = [...new Set(vms.map(({ act }) => act))].join(', ');
  if (chosen.every(({ forPod }) => forPod === true)) return `${what} ${names}, whose pods lack what ${revision} says`;
  return `update ${names} to ${revision} (${what}${changed === '' ? '' : `; ${changed} changed`})`;
}

/**
 * Puts VMs that are down first: they already count against the budget. Before a step, VMs of its revision (`begun`)
 * come before all others: a VM that was already begun takes no other VM's place. VMs that were given back for reasons
 * of their own come last, so that they don't hold up the others.
 */
function inOrder({ spec }: RolloutContext, free: readonly Candidate[], begun: string | null): Candidate[] {
  const byVm = new Map(free.map((candidate) => [candidate.vm, candidate]));
  const policy = spec.update.kind === 'proactive' ? spec.update.selectionPolicy : undefined;
  const ordered = updateOrder([...byVm.keys()], (vm) => byVm.get(vm)!.down, policy).map((vm) => byVm.get(vm)!);
  const rank = ({ vm, wasDeferred }: Candidate): number =>
    2 * Number(wasDeferred) + Number(begun !== null && vm.revision !== begun);
  return ordered.toSorted((a, b) => rank(a) - rank(b));
}

/** Reports whether a batch that could begin must wait for a maintenance window or a delay. */
function isTooEarly({ spec, waits, input: { now, notBefore, isChangingMembers } }: RolloutContext): boolean {
  if (isChangingMembers) {
    waits.for('Delay', 'its members are changing');
    return true;
  }
  const window = windowAt(spec.rollout.windows, now);
  if (!window.open) {
    if (window.next !== null) waits.requeue(window.next);
    waits.for('Window', whyClosed(window, spec.rollout.windows, 'spec.rollout.windows'));
    return true;
  }
  if (notBefore <= now) return false;
  waits.requeue(notBefore);
  waits.for('Delay', `it continues at ${new Date(notBefore).toISOString()}`);
  return true;
}
