import { askerOf } from '../../api/asked-by.ts';
import { ASKED_BY_ANNOTATION } from '../../api/names.ts';
import type { RolloutStatus } from '../../api/pool/pool.ts';
import { isMeantToRun, maxUnavailableOf, activeVmi, unavailability } from '../disruption-budget/availability.ts';
import { claimedNames } from '../disruption-budget/claims.ts';
import { windowAt, windowFaults } from '../lib/maintenance-windows.ts';
import { formatNames } from '../lib/names.ts';
import { updateOrder } from '../scaling/selection-order.ts';
import type { RolloutTarget } from '../vm-update/need.ts';
import type { Batch, BatchVm } from './batch.ts';
import { blockedAt } from './blocked.ts';
import type { Candidate } from './candidates.ts';
import type { RolloutContext } from './context.ts';
import type { VmsInProgress } from './in-progress.ts';

/** Most VMs in one batch: few enough to act on within a moment, and for a person to read. */
const MOST_IN_BATCH = 100;
/** How long freed budget is gathered, unless a quarter of the budget is free earlier. */
const GATHER_MS = 1_000;

/** How often to look again while others have claimed the budget. */
const CLAIMS_AGAIN_MS = 2_000;

/** A batch to begin. */
export interface PlannedBatch {
  batch: Omit<Batch, 'startedAt'>;
  /** Who asked for it; null if unknown. */
  askedBy: string | null;
  minReadyMs: number;
  /** How long its VMs may take to become ready. */
  deadlineMs: number;
  reason: string;
}

/** State of the rollout, and how many running VMs it may take before its next step; null without a limit. */
interface Room {
  state: RolloutStatus;
  stepRoom: number | null;
}

/**
 * Returns the VMs that may be taken now: never more than the disruption budget allows, nor more than `stepRoom` running
 * ones; null if there are none, or it is too early.
 */
export function nextVms(
  context: RolloutContext,
  target: RolloutTarget,
  free: readonly Candidate[],
  inProgress: VmsInProgress,
  { stepRoom, state }: Room,
): Candidate[] | null {
  const { waits } = context;
  const { pool, vmiOf, batches, burst, now } = context.input;
  const most = maxUnavailableOf(pool);
  const claimed = claimedNames({ pool, vms: context.input.vms, vmiOf }, now);
  const { count: unavailable, names } = unavailability({
    pool,
    vms: context.active,
    vmiOf,
    inProgress: [...inProgress.unsettled, ...claimed],
  });
  let room = most - unavailable;
  let places = Math.min(burst - inProgress.all.size, MOST_IN_BATCH);
  let toStep = stepRoom ?? Infinity;
  const chosen: Candidate[] = [];
  let paid = 0;
  let wanting = 0;
  const ordered = inOrder(context, free);
  // A VM that was already begun takes no other VM's place before a step.
  if (stepRoom !== null)
    ordered.sort(
      (one, other) => Number(other.vm.revision === target.revision) - Number(one.vm.revision === target.revision),
    );
  for (const candidate of ordered) {
    const { vm, act, down } = candidate;
    const runs = isMeantToRun(vm, vmiOf(vm));
    // Before a step, only running VMIs say anything about the new revision.
    if (stepRoom !== null && (!runs || toStep <= 0)) continue;
    const cost = act === 'write' || down ? 0 : 1;
    if (cost > Math.max(room, 0) || places <= 0) {
      wanting++;
      continue;
    }
    room -= cost;
    paid += cost;
    places--;
    toStep--;
    chosen.push(candidate);
  }
  if (wanting > 0 && chosen.length === 0) {
    const count = unavailable === 1 ? '1 VM is' : `${unavailable} VMs are`;
    // While batches run, the names would change with every turn, and the status with them.
    const which = batches.length > 0 ? ' or being updated' : names.size === 0 ? '' : ` (${formatNames([...names])})`;
    const blocked = unavailable > names.size || claimed.length > 0 ? null : blockedAt(context, names, state);
    if (blocked !== null) waits.wake(blocked);
    const isBlocked = blocked !== null && blocked <= now;
    const long = isBlocked ? `, for ${context.spec.rollout.progressDeadlineSeconds} s and longer` : '';
    waits.for(
      isBlocked ? 'Blocked' : 'Budget',
      `${count} unavailable${which}${long}, and maxUnavailable allows ${most}`,
    );
    // A released claim causes no event of the pool.
    if (claimed.some((name) => !inProgress.unsettled.has(name))) waits.wake(now + CLAIMS_AGAIN_MS);
  }
  if (chosen.length === 0 || isTooEarly(context)) return null;
  const lastBegan = Math.max(...batches.map((batch) => batch.startedAt));
  if (wanting > 0 && paid === chosen.length && paid < Math.ceil(most / 4) && now < lastBegan + GATHER_MS) {
    waits.wake(lastBegan + GATHER_MS);
    return null;
  }
  return chosen;
}

/** Returns the batch with these VMs. `n`: its number. */
export function batchOf(
  context: RolloutContext,
  target: RolloutTarget,
  chosen: readonly Candidate[],
  n: number,
): PlannedBatch {
  const { pool, vmiOf } = context.input;
  const { minReadySeconds, progressDeadlineSeconds } = context.spec.rollout;
  const vms = chosen.map(({ vm, act, down }): BatchVm => ({
    name: vm.name,
    uid: vm.uid,
    act,
    from: vm.revision,
    wasDown: down,
    ...(act === 'write' && activeVmi(vm, vmiOf(vm)) !== undefined ? { runs: true } : {}),
    ...(act === 'replace' && vm.runStrategy === 'Halted' ? { halted: true } : {}),
  }));
  const what = [...new Set(vms.map(({ act }) => act))].join(', ');
  return {
    batch: { n, revision: target.revision, rollout: context.newest, vms },
    askedBy:
      target.revision === context.newest
        ? (askerOf(pool.metadata.annotations?.[ASKED_BY_ANNOTATION], target.revision) ?? null)
        : 'drover',
    minReadyMs: minReadySeconds * 1000,
    deadlineMs: progressDeadlineSeconds * 1000,
    reason: `update ${formatNames(vms.map((vm) => vm.name))} to ${target.revision} (${what})`,
  };
}

/** Puts VMs that are down first: they already count against the budget. */
function inOrder({ spec }: RolloutContext, free: readonly Candidate[]): Candidate[] {
  const byVm = new Map(free.map((candidate) => [candidate.vm, candidate]));
  const policy = spec.update.kind === 'proactive' ? spec.update.selectionPolicy : undefined;
  return updateOrder([...byVm.keys()], (vm) => byVm.get(vm)!.down, policy).map((vm) => byVm.get(vm)!);
}

/** Reports whether a batch that could begin must wait for a maintenance window or a delay. */
function isTooEarly({ spec, waits, input: { now, notBefore } }: RolloutContext): boolean {
  const window = windowAt(spec.rollout.windows, now);
  if (!window.open) {
    if (window.next !== null) waits.wake(window.next);
    const when =
      window.next === null
        ? 'no maintenance window opens any more'
        : `the next maintenance window opens at ${new Date(window.next).toISOString()}`;
    waits.for('Window', [when, ...windowFaults(spec.rollout.windows)].join('; '));
    return true;
  }
  if (notBefore <= now) return false;
  waits.wake(notBefore);
  waits.for('Delay', `it goes on at ${new Date(notBefore).toISOString()}`);
  return true;
}
