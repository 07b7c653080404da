import { askerOf } from '../../api/asked-by.ts';
import { ASKED_BY_ANNOTATION } from '../../api/names.ts';
import type { RolloutStatus } from '../../api/pool/pool.ts';
import { isMeantToRun, maxUnavailableOf, activeVmi, unavailability } from '../disruption-budget/availability.ts';
import { claimedNames } from '../disruption-budget/claims.ts';
import { windowAt, windowFaults } from '../lib/maintenance-windows.ts';
import { formatNames } from '../lib/names.ts';
import { updateOrder } from '../pool/selection-order.ts';
import type { Goal } from '../vm-update/need.ts';
import type { Batch, BatchVm } from './batch.ts';
import { blockedAt } from './blocked.ts';
import type { Candidate } from './candidates.ts';
import type { RolloutContext } from './context.ts';
import type { InHand } from './in-progress.ts';

/** VMs of one batch at most: its acts are few enough to be over in a moment, and to be read by a person. */
const MOST_IN_BATCH = 100;
/** Freed budget is gathered for so long, unless a quarter of it has come together before. */
const GATHER_MS = 1_000;

/** While others have claimed what room there is, it is looked for again so often. */
const CLAIMS_AGAIN_MS = 2_000;

/** A batch to begin. */
export interface PlannedBatch {
  batch: Omit<Batch, 'startedAt'>;
  /** Who asked for it, as far as that is known. */
  askedBy: string | null;
  minReadyMs: number;
  /** How long its VMs may take to be ready. */
  deadlineMs: number;
  reason: string;
}

/** Where the rollout stands, and how many running VMs it may take before its next step; null without a limit. */
interface Room {
  state: RolloutStatus;
  stepRoom: number | null;
}

/**
 * VMs that may be taken now: never more than the budget holds, nor than `stepRoom` of them that run; null where there
 * are none, or it is too early.
 */
export function nextVms(
  scene: RolloutContext,
  goal: Goal,
  free: readonly Candidate[],
  inHand: InHand,
  { stepRoom, state }: Room,
): Candidate[] | null {
  const { waits } = scene;
  const { pool, vmiOf, batches, burst, now } = scene.input;
  const most = maxUnavailableOf(pool);
  const claimed = claimedNames({ pool, vms: scene.input.vms, vmiOf }, now);
  const { count: unavailable, names } = unavailability({
    pool,
    vms: scene.staying,
    vmiOf,
    inHand: [...inHand.unsettled, ...claimed],
  });
  let room = most - unavailable;
  let places = Math.min(burst - inHand.all.size, MOST_IN_BATCH);
  let toStep = stepRoom ?? Infinity;
  const chosen: Candidate[] = [];
  let paid = 0;
  let wanting = 0;
  const ordered = inOrder(scene, free);
  // One that was begun already takes no other's place below a step.
  if (stepRoom !== null)
    ordered.sort(
      (one, other) => Number(other.vm.revision === goal.revision) - Number(one.vm.revision === goal.revision),
    );
  for (const candidate of ordered) {
    const { vm, act, down } = candidate;
    const runs = isMeantToRun(vm, vmiOf(vm));
    // Below a step only guests that run say something of the new revision.
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
    // Beside batches the names would change with every turn, and the status with them.
    const which = batches.length > 0 ? ' or being updated' : names.size === 0 ? '' : ` (${formatNames([...names])})`;
    const blocked = unavailable > names.size || claimed.length > 0 ? null : blockedAt(scene, names, state);
    if (blocked !== null) waits.wake(blocked);
    const isBlocked = blocked !== null && blocked <= now;
    const long = isBlocked ? `, for ${scene.spec.rollout.progressDeadlineSeconds} s and longer` : '';
    waits.for(
      isBlocked ? 'Blocked' : 'Budget',
      `${count} unavailable${which}${long}, and maxUnavailable allows ${most}`,
    );
    // That a claim has been given up is no event of the pool's.
    if (claimed.some((name) => !inHand.unsettled.has(name))) waits.wake(now + CLAIMS_AGAIN_MS);
  }
  if (chosen.length === 0 || isTooEarly(scene)) return null;
  const lastBegan = Math.max(...batches.map((batch) => batch.startedAt));
  if (wanting > 0 && paid === chosen.length && paid < Math.ceil(most / 4) && now < lastBegan + GATHER_MS) {
    waits.wake(lastBegan + GATHER_MS);
    return null;
  }
  return chosen;
}

/** The batch with these VMs. `n`: its number. */
export function batchOf(scene: RolloutContext, goal: Goal, chosen: readonly Candidate[], n: number): PlannedBatch {
  const { pool, vmiOf } = scene.input;
  const { minReadySeconds, progressDeadlineSeconds } = scene.spec.rollout;
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
    batch: { n, revision: goal.revision, rollout: scene.newest, vms },
    askedBy:
      goal.revision === scene.newest
        ? (askerOf(pool.metadata.annotations?.[ASKED_BY_ANNOTATION], goal.revision) ?? null)
        : 'drover',
    minReadyMs: minReadySeconds * 1000,
    deadlineMs: progressDeadlineSeconds * 1000,
    reason: `update ${formatNames(vms.map((vm) => vm.name))} to ${goal.revision} (${what})`,
  };
}

/** Broken VMs first: they are counted already. */
function inOrder({ spec }: RolloutContext, free: readonly Candidate[]): Candidate[] {
  const byVm = new Map(free.map((candidate) => [candidate.vm, candidate]));
  const policy = spec.update.kind === 'proactive' ? spec.update.selectionPolicy : undefined;
  return updateOrder([...byVm.keys()], (vm) => byVm.get(vm)!.down, policy).map((vm) => byVm.get(vm)!);
}

/** A batch that could begin has to wait for its time. */
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
