import { withDefaults } from '../../api/rules/pool-defaults.ts';
import { isActive } from '../health/availability.ts';
import { earlier, earliestAfter } from '../lib/earlier-and-later.ts';
import { byNumber } from '../lib/names.ts';
import type { RunRecord } from '../owners/steps.ts';
import { assessCycles, endAll } from './assess-cycles.ts';
import type { AttemptId, PlannedAttempt } from './attempt.ts';
import { expiresAt } from './backoff.ts';
import { breaker, healingCapacity } from './breaker.ts';
import { dueAttempts } from './due-attempts.ts';
import { modeEvent, type HealingEvent } from './events.ts';
import { findUnhealthy, type NotReplaced } from './find-unhealthy.ts';
import { neverRan, startToRecord } from './never-ran.ts';
import { carried, refreshState } from './refresh-state.ts';
import { isFinal, newCycle, withBegun, type FinishedCycle, type HealingState, type HealingMode } from './state.ts';
import type { HealingInput, HealingView } from './view.ts';
import { availableAt, isAvailable } from './vm-health.ts';

export interface HealingPlan {
  begin: PlannedAttempt[];
  /** Attempts that may still run although their cycles have ended. */
  cancel: AttemptId[];
  events: HealingEvent[];
  /** Notes to write on VMs. */
  runRecords: RunRecord[];
  state: HealingState;
  /** Why no more VMs are removed; null if they may be. */
  suspended: string | null;
  /** VMs that are not ready and not replaced. VMs whose replacement waits come first. */
  notReplaced: NotReplaced[];
  /** How many more of them there are. */
  notListed: number;
  requeueAt: number | null;
}

/** After how long a note that could not be written is retried. */
const RECORD_AGAIN_MS = 60_000;
/** When to look again at a VM whose cycle has ended and that is unhealthy. */
const LOOK_AGAIN_MS = 1_000;
/** How many VMs that are not replaced are listed; the rest are counted. */
const MAX_LISTED = 50;

/**
 * Plans which attempts to begin and to cancel, and what becomes of the cycles in progress. Ends all cycles if the pool
 * does not heal.
 */
export function planHealing(input: HealingInput): HealingPlan {
  const { pool, now, burst } = input;
  const { autohealing: rules, rollout } = withDefaults(pool.spec);
  if (rules === null || pool.metadata.deletionTimestamp !== undefined)
    return healsNoMore(input, rules === null ? 'the pool no longer heals' : 'the pool is deleted');
  const view: HealingView = {
    ...input,
    rules,
    minReadyMs: rollout.minReadySeconds * 1000,
    timeoutMs: rollout.progressDeadlineSeconds * 1000,
  };
  const { state, cancel, events, requeueAt } = assessCycles(view, refreshState(view));
  const found = findUnhealthy(view, state);
  const suspended = breaker(view, found.unhealthy.length + found.unhealed + state.cycles.length);
  const mode = modeOf(state, suspended);
  const capacity =
    mode === 'Active' ? healingCapacity(view, state) : { count: 0, full: WHY_HELD[mode], requeueAt: null };
  // A VM whose cycle has just ended is looked at again later: its attempt may still run, or this worker's cache may be
  // behind.
  const ended = new Set(input.state.cycles.map(({ vm }) => vm));
  const free = found.unhealthy.filter(({ name }) => !ended.has(name));
  const unhealthy = free.slice(0, capacity.count);
  const inLine = free
    .slice(capacity.count)
    .map((one) => ({ vm: one.name, message: one.message, waitsFor: capacity.full }));
  const notReplaced = [...found.waiting, ...inLine, ...found.exempt];
  const cycles = [...state.cycles, ...unhealthy.map((one) => newCycle(one, now))];
  const { begin, requeueAt: overdueAt } = dueAttempts(view, { ...state, cycles }, mode);
  const runRecords = runRecordsOf(view);
  const recordAgainAt = runRecords.length === 0 ? null : now + RECORD_AGAIN_MS;
  return {
    begin,
    cancel,
    events: [...events, ...modeEvent(input.state.mode, mode, suspended)],
    runRecords: inTurn(runRecords, burst, now),
    state: carried(withBegun({ ...state, cycles, finished: found.finished, mode }, begin, now)),
    suspended,
    notReplaced: notReplaced.slice(0, MAX_LISTED),
    notListed: Math.max(notReplaced.length - MAX_LISTED, 0),
    requeueAt: [
      requeueAt,
      free.length < found.unhealthy.length ? now + LOOK_AGAIN_MS : null,
      inLine.length > 0 ? capacity.requeueAt : null,
      found.requeueAt,
      overdueAt,
      nextFading(view, found.finished),
      nextAvailable(view, found.finished),
      recordAgainAt,
    ].reduce(earlier, null),
  };
}

export const healingAsItIs = (state: HealingState): HealingPlan => ({
  state,
  begin: [],
  cancel: [],
  events: [],
  runRecords: [],
  suspended: null,
  notReplaced: [],
  notListed: 0,
  requeueAt: null,
});

const WHY_HELD = { Paused: 'healing is paused', NoNewReplacements: 'too many are unhealthy' };

function modeOf({ paused }: HealingState, suspended: string | null): HealingMode {
  if (paused !== undefined) return 'Paused';
  return suspended === null ? 'Active' : 'NoNewReplacements';
}

/** Notes still to be written on VMs. Starts are not noted if the pool sets preserveStorage. */
function runRecordsOf(view: HealingView): RunRecord[] {
  const { vms, vmiOf, vmiHistoryOf, rules, minReadyMs, now } = view;
  const records: RunRecord[] = [];
  for (const vm of vms) {
    const { name, uid, resourceVersion } = vm;
    if (!isActive(vm) || vm.notYetRun === null) continue;
    const vmi = vmiOf(vm);
    if (isAvailable(vm, vmi, minReadyMs, now)) records.push({ name, uid, resourceVersion, start: null });
    else if (
      rules.preserveStorage === null &&
      neverRan({ vm, vmi, vmiHistory: vmiHistoryOf(vm), minReadyMs, now }) === 'certain'
    ) {
      const start = startToRecord({ vm, vmi });
      if (start !== null) records.push({ name, uid, resourceVersion, start });
    }
  }
  return records.toSorted((a, b) => byNumber(a.name, b.name));
}

/**
 * At most `most` notes at a time, each minute beginning with others, so that notes which are refused again and again
 * don't hold up the rest.
 */
function inTurn(records: readonly RunRecord[], most: number, now: number): RunRecord[] {
  if (records.length <= most) return [...records];
  const from = (Math.floor(now / RECORD_AGAIN_MS) * most) % records.length;
  return [...records.slice(from), ...records.slice(0, from)].slice(0, most);
}

function healsNoMore(input: HealingInput, message: string): HealingPlan {
  const state = { ...input.state, earlyExits: [] };
  return { ...healingAsItIs(state), ...endAll(input, state, message) };
}

/** When the next ended cycle is forgotten. Final ends are kept as long as their VMs exist. */
function nextFading({ vms, rules, now }: HealingView, finished: readonly FinishedCycle[]): number | null {
  const uids = new Set(vms.map(({ uid }) => uid));
  const fading = finished.filter((one) => !isFinal(one) || !uids.has(one.uid));
  return earliestAfter(
    now,
    fading.map(({ at }) => expiresAt(Date.parse(at), rules.backoff)),
  );
}

/**
 * When the next VM that is to be noted, or to be healed again when it fails, will run well: no event announces that.
 */
function nextAvailable(
  { vms, vmiOf, minReadyMs, now }: HealingView,
  finished: readonly FinishedCycle[],
): number | null {
  const settled = new Set(finished.filter(isFinal).map(({ uid }) => uid));
  const unnoted = vms.filter((vm) => isActive(vm) && (vm.notYetRun !== null || settled.has(vm.uid)));
  return earliestAfter(
    now,
    unnoted.map((vm) => availableAt(vm, vmiOf(vm), minReadyMs, now)),
  );
}
