import {
  ActivityCancellationType,
  ActivityFailure,
  ApplicationFailure,
  condition,
  continueAsNew,
  isCancellation,
  log,
  proxyActivities,
  setCurrentDetails,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { Preflight } from '../../activities/machine-types/check.ts';
import type { MachineTypeActivities, TransitionLook } from '../../activities/machine-types/machine-types.ts';
import type { Unpatched } from '../../activities/machine-types/patch-vms.ts';
import { backoffMs } from '../../decisions/lib/backoff.ts';
import { formatNames } from '../../decisions/lib/names.ts';
import { laterSeen, type Seen } from '../../decisions/lib/resource-versions.ts';
import { summary } from '../../decisions/lib/summary.ts';
import type { FailedVm, HeldGuest } from '../../decisions/machine-types/limit.ts';
import type {
  Transition,
  TransitionCounts,
  TransitionPhase,
  TransitionProgress,
} from '../../decisions/machine-types/transition.ts';
import type { RestartOutcome } from '../../decisions/restarts/plan.ts';
import type { PassedOver } from '../../decisions/runs/skipped.ts';
import { onQuery } from '../handlers.ts';
import { transitionProgress } from '../messages.ts';
import { waitQueue } from '../queues.ts';
import { steered, RunControls } from '../runs/steering.ts';
import { DroverCluster, DroverPhase } from '../search-attributes.ts';
import { transitionDetails } from './details.ts';

/** Identifies a transition: `id` is 8 hex digits. */
export interface TransitionRef {
  cluster: string;
  id: string;
}

export interface MachineTypeTransitionInput {
  ref: TransitionRef;
  transition: Transition;
  /**
   * The resource versions that the requester has read: the preflight looks at nothing older. If absent, the worker
   * lists everything again.
   */
  seen?: Seen;
  /** What a run hands to the next when its history has grown long. */
  carried?: TransitionState;
}

type Kept = Pick<
  TransitionProgress,
  | 'results'
  | 'counts'
  | 'patched'
  | 'restarted'
  | 'failures'
  | 'passedOver'
  | 'full'
  | 'maxRestarts'
  | 'paused'
  | 'aborted'
  | 'startedAt'
>;

/**
 * Plain data: each run hands it to the next. Holds only VMs in flight and failed VMs; everything else is in the
 * cluster.
 */
export interface TransitionState extends Kept {
  inHand: HeldGuest[];
  failed: TransitionProgress['failed'];
  /** All failed VMs, which are not tried again. */
  failedVms: FailedVm[];
  /** The latest VMs that somebody else changed just before drover could. */
  changed: string[];
  /** Failed restarts of VMs that were ready before: more than `maxFailures` end the transition. */
  broken: number;
  /** Digest of what the last look reported. */
  told: string | null;
  notBefore: number;
  /** Turns in a row in which every VM taken had to be given back. */
  deferrals: number;
  seen: Seen;
}

const awaiting = () =>
  proxyActivities<MachineTypeActivities>({
    taskQueue: waitQueue(),
    startToCloseTimeout: '24h',
    heartbeatTimeout: '10s',
    retry: { initialInterval: '200ms', maximumInterval: '10s' },
    // It changes nothing, so a cancellation need not wait for its end.
    cancellationType: ActivityCancellationType.TRY_CANCEL,
  });
const untilDone = {
  startToCloseTimeout: '30m',
  heartbeatTimeout: '10s',
  retry: { initialInterval: '500ms', maximumInterval: '10s' },
} as const;
const { preflightTransition } = proxyActivities<MachineTypeActivities>({
  ...untilDone,
  cancellationType: ActivityCancellationType.TRY_CANCEL,
});
// Retried until done: what is impossible comes back as an outcome.
const { checkMachineTypes, patchMachineTypes, changePools, clearMarks, beginTransitionRestarts } =
  proxyActivities<MachineTypeActivities>(untilDone);

/** More failures than this end the transition: its report and its state would grow without bounds. */
const MOST_FAILURES = 1_000;
const FAILURES_TOLD = 250;
const CHANGED_TOLD = 100;
const WHY_LENGTH = 300;

/**
 * Changes the machine type of VMs of any owner, and follows each VM until its guest has the new type: restarted by
 * drover, within a budget, or by its owner. Keeps no list of VMs: each turn reads from the cluster what is still to be
 * done, a few hundred names at most.
 */
export const machineTypeTransition = (input: MachineTypeTransitionInput): Promise<TransitionProgress> =>
  steered(() => carryOut(input));

async function carryOut(input: MachineTypeTransitionInput): Promise<TransitionProgress> {
  const { ref, transition } = input;
  const { id } = ref;
  const state = input.carried ?? begun();
  let phase: TransitionPhase = 'Checking';

  const isTripped = (): boolean => state.broken > transition.maxFailures || state.failures > MOST_FAILURES;
  const isEnding = (): boolean => state.aborted !== null || isTripped();
  const takes = (): boolean => state.paused === null && !isEnding();
  const progress = (): TransitionProgress => {
    const { results, counts, patched, restarted, failed, failures, full, maxRestarts, paused, aborted, startedAt } =
      state;
    const passedOver = [...state.passedOver, ...changedMeanwhile(state.changed)];
    const inHand = state.inHand.map(({ vm }) => vm);
    return {
      id,
      phase,
      transition,
      results,
      counts,
      patched,
      restarted,
      failed,
      failures,
      inHand,
      passedOver,
      full,
      maxRestarts,
      paused,
      aborted,
      startedAt,
    };
  };
  const show = (now: TransitionPhase): void => {
    if (now !== phase) upsertSearchAttributes([{ key: DroverPhase, value: now }]);
    phase = now;
    setCurrentDetails(transitionDetails(progress()));
  };
  const showCurrent = (): void => show(state.paused !== null ? 'Paused' : isAtWork(state) ? 'Changing' : 'Waiting');
  const steering = new RunControls(state, {
    pauses: 'Change and restart no further VM until resume; those that restart already come back.',
    aborts: 'Change and restart no further VM, and end once those that restart already are back.',
    onAsked() {
      if (phase !== 'Checking') showCurrent();
    },
  });
  onQuery(transitionProgress, progress);

  if (input.carried === undefined) await check();
  else showCurrent();
  for (;;) {
    // Nothing is in flight here. What an abandoned wait has found is found again.
    if (workflowInfo().continueAsNewSuggested)
      await continueAsNew<typeof machineTypeTransition>({ ...input, carried: state });
    const found = await next();
    if (found === null) continue;
    settle(found);
    if (found.isOver) {
      if (state.paused === null || isEnding()) break;
      await condition(() => state.paused === null || state.aborted !== null || workflowInfo().continueAsNewSuggested);
    } else {
      await act(found);
      showCurrent();
    }
  }
  await clearMarks({ id, vms: null, seen: state.seen });
  show(state.aborted !== null ? 'Aborted' : state.failures > 0 ? 'Failed' : 'Complete');
  return progress();

  async function check(): Promise<void> {
    upsertSearchAttributes([{ key: DroverCluster, value: ref.cluster }]);
    show('Checking');
    try {
      const request = { ref, transition, ...(input.seen === undefined ? {} : { seen: input.seen }) };
      // The preflight changes nothing and may be retried for long, so signals are handled meanwhile.
      for (let found: Preflight | null = null; found === null && state.aborted === null;) {
        found = await steering.look(() => preflightTransition(request));
        if (found !== null)
          Object.assign(state, { results: found.results, maxRestarts: found.maxRestarts, seen: found.seen });
      }
    } catch (error) {
      if (isCancellation(error)) throw error;
      show('Refused');
      throw ApplicationFailure.nonRetryable(
        error instanceof ActivityFailure ? (error.cause?.message ?? error.message) : String(error),
        'Refused',
      );
    }
    showCurrent();
  }

  /** Resolves with null if somebody asks for something meanwhile. */
  function next(): Promise<TransitionLook | null> {
    const { inHand, failedVms, results, maxRestarts, seen, notBefore, told } = state;
    const request = {
      ref,
      transition,
      results,
      maxRestarts,
      inHand: [...inHand],
      failed: [...failedVms],
      seen,
      notBefore,
      told,
      takes: takes(),
      isEnding: isEnding(),
    };
    return steering.look(() => awaiting().awaitTransition(request));
  }

  function settle({ settled, counts, passedOver, full, told, seen }: TransitionLook): void {
    Object.assign(state, { counts, passedOver, full, told });
    end(settled, seen);
  }

  /**
   * Acts on everything that a look has found, one thing after another, since each takes time. The next look waits for
   * the results.
   */
  async function act({ check, patch, pools, unmark, take }: TransitionLook): Promise<void> {
    if (check.length > 0 && takes()) {
      const { results, seen } = await checkMachineTypes({
        ref,
        transition,
        results: state.results,
        wanted: check,
        seen: state.seen,
      });
      state.results.push(...results);
      learn(seen);
    }
    const { results } = state;
    if (unmark.length > 0) {
      const { kept, seen } = await clearMarks.executeWithOptions(named('clear the mark of', unmark), [
        { id, vms: unmark, seen: state.seen },
      ]);
      for (const one of kept) fail(one, { wasWell: false, keepsMark: true });
      learn(seen);
    }
    if (pools.length > 0 && takes()) {
      const request = { ref, transition, results, pools, seen: state.seen };
      const { outcomes, seen } = await changePools.executeWithOptions(named('change the templates of', pools), [
        request,
      ]);
      unpatched(outcomes);
      learn(seen);
    }
    if (patch.length > 0 && takes()) {
      const request = { ref, transition, results, vms: patch, seen: state.seen };
      const { outcomes, patched, seen } = await patchMachineTypes.executeWithOptions(named('change', patch), [request]);
      state.patched += patched;
      // A VM that is patched again has its old type back: somebody's change to it no longer counts.
      state.changed = state.changed.filter((vm) => !patch.includes(vm));
      unpatched(outcomes);
      learn(seen);
    }
    if (take.length > 0 && takes()) await restart(take);
  }

  async function restart(taken: TransitionLook['take']): Promise<void> {
    const takenAt = Date.now();
    state.inHand.push(...taken.map((one) => ({ ...one, takenAt })));
    const { toRestart, restarting } = state.counts;
    state.counts = {
      ...state.counts,
      toRestart: Math.max(toRestart - taken.length, 0),
      restarting: restarting + taken.length,
    };
    showCurrent();
    const vms = taken.map(({ vm }) => vm);
    const { inHand, failedVms, maxRestarts, results, seen } = state;
    const request = { ref, transition, results, vms, inHand: [...inHand], failed: [...failedVms], maxRestarts, seen };
    const begun = await beginTransitionRestarts.executeWithOptions(named('restart', vms), [request]);
    end(begun.outcomes, begun.seen);
    const deferred = begun.outcomes.filter((outcome) => outcome.end === 'Deferred').length;
    state.deferrals = deferred === vms.length ? state.deferrals + 1 : 0;
    if (state.deferrals > 0) state.notBefore = Date.now() + backoffMs(state.deferrals);
  }

  function end(outcomes: readonly RestartOutcome[], seen: Seen): void {
    const held = new Map(state.inHand.map((one) => [one.vm, one]));
    for (const { vm, end, why = '' } of outcomes) {
      if (end === 'Restarted') state.restarted++;
      const one = held.get(vm);
      const wasWell = one?.wasDown === false;
      if (end === 'Failed' && wasWell) state.broken++;
      if (end === 'Failed') fail({ vm, why }, { ...(one === undefined ? {} : { uid: one.uid }), wasWell });
      held.delete(vm);
    }
    state.inHand = [...held.values()];
    learn(seen);
  }

  function unpatched(outcomes: readonly Unpatched[]): void {
    for (const { vm, uid, end, why } of outcomes) {
      if (end === 'Failed') fail({ vm, why }, { ...(uid === undefined ? {} : { uid }), wasWell: false });
      else state.changed.push(vm);
    }
    state.changed.splice(0, state.changed.length - CHANGED_TOLD);
  }

  function fail({ vm, why }: { vm: string; why: string }, how: Omit<FailedVm, 'vm'>): void {
    log.warn('the machine type of a VM could not be changed', { vm, why });
    state.failures++;
    state.failedVms.push({ vm, ...how });
    if (state.failed.length < FAILURES_TOLD) state.failed.push({ vm, why: why.slice(0, WHY_LENGTH) });
  }

  function learn(seen: Seen): void {
    state.seen = laterSeen(state.seen, seen);
  }
}

const NONE: TransitionCounts = {
  toPatch: 0,
  toRestart: 0,
  waiting: 0,
  inPools: 0,
  parked: 0,
  restarting: 0,
  left: 0,
  done: 0,
};

const begun = (): TransitionState => ({
  results: [],
  counts: NONE,
  patched: 0,
  restarted: 0,
  failed: [],
  failedVms: [],
  failures: 0,
  changed: [],
  broken: 0,
  inHand: [],
  passedOver: [],
  full: [],
  maxRestarts: 1,
  paused: null,
  aborted: null,
  told: null,
  notBefore: 0,
  deferrals: 0,
  startedAt: new Date(Date.now()).toISOString(),
  seen: {},
});

const changedMeanwhile = (vms: readonly string[]): PassedOver[] =>
  vms.length === 0
    ? []
    : [{ why: 'somebody has changed its machine type meanwhile', isWish: true, count: vms.length, vms: [...vms] }];

/**
 * Reports whether drover itself has something to do. False if all that is left waits for others: owners, pools, a
 * budget or a window.
 */
const isAtWork = ({ counts, inHand, full, told }: TransitionState): boolean =>
  told === null || inHand.length > 0 || counts.toPatch > 0 || (counts.toRestart > 0 && full.length === 0);

const named = (what: string, names: readonly string[]): { summary: string } => ({
  summary: summary(`${what} ${formatNames(names)}`),
});
