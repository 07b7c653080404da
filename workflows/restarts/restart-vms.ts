import {
  ActivityCancellationType,
  condition,
  continueAsNew,
  log,
  proxyActivities,
  setCurrentDetails,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { ChosenByNamespace } from '../../activities/restarts/chosen-vmis.ts';
import type { RestartActivities, RestartLook } from '../../activities/restarts/restarts.ts';
import { backoffMs } from '../../decisions/lib/backoff.ts';
import { formatNames } from '../../decisions/lib/names.ts';
import { laterSeen, type Seen } from '../../decisions/lib/resource-versions.ts';
import { summary } from '../../decisions/lib/summary.ts';
import type { HeldRestart, RestartOutcome } from '../../decisions/restarts/plan.ts';
import { noteFailure } from '../../decisions/restarts/size.ts';
import { onQuery } from '../handlers.ts';
import { restartProgress, type RestartPhase, type RestartProgress } from '../messages.ts';
import { waitQueue } from '../queues.ts';
import { steered, RunControls } from '../runs/steering.ts';
import { DroverPhase } from '../search-attributes.ts';
import { restartDetails } from './details.ts';

export interface RestartVmsInput {
  /** UIDs of the VMIs to restart: a VM that has another VMI by then is left as it is. */
  chosen: ChosenByNamespace;
  /** How many of the chosen VMs may be unready at once, whatever the cause. */
  maxUnavailable: number;
  /** More failures than this end the restart. */
  maxFailures: number;
  /**
   * Milliseconds that a VM may take to be ready again, and that the run waits at the end for VMs that can't be
   * restarted now.
   */
  deadlineMs: number;
  askedBy: string;
  reason: string | null;
  /** What a run hands to the next when its history has grown long. */
  carried?: RestartState;
}

/** Plain data: each run hands it to the next, within the size that `decisions/restarts/size.ts` measures. */
export interface RestartState extends Pick<
  RestartProgress,
  'restarted' | 'failed' | 'open' | 'passedOver' | 'full' | 'paused' | 'aborted'
> {
  inHand: HeldRestart[];
  told: string | null;
  quietSince: number;
  notBefore: number;
  /** Turns in a row in which every VM taken had to be given back. */
  deferrals: number;
  seen: Seen;
}

const awaiting = () =>
  proxyActivities<RestartActivities>({
    taskQueue: waitQueue(),
    startToCloseTimeout: '24h',
    heartbeatTimeout: '10s',
    retry: { initialInterval: '200ms', maximumInterval: '10s' },
    // It changes nothing, so a cancellation need not wait for its end.
    cancellationType: ActivityCancellationType.TRY_CANCEL,
  });
// Retried until done: what is impossible comes back as an outcome.
const { beginRestarts } = proxyActivities<RestartActivities>({
  startToCloseTimeout: '30m',
  heartbeatTimeout: '10s',
  retry: { initialInterval: '500ms', maximumInterval: '10s' },
});

/**
 * Restarts VMs of any owner, within a budget of its own and the budgets of the pools that own them: each VMI at most
 * once, whichever process dies, and the next only when the last is seen to be ready again.
 *
 * Each turn waits until there is something to do, records which VMs it takes, and only then restarts them.
 */
export const restartVms = (input: RestartVmsInput): Promise<RestartProgress> => steered(() => carryOut(input));

async function carryOut(input: RestartVmsInput): Promise<RestartProgress> {
  const { maxUnavailable, maxFailures, deadlineMs, askedBy, reason } = input;
  const state = input.carried ?? begun();
  const chosen = Object.values(input.chosen).reduce((sum, guests) => sum + Object.keys(guests).length, 0);
  let phase: RestartPhase = 'Restarting';

  const isTripped = (): boolean => state.failed.filter(({ wasDown }) => !wasDown).length > maxFailures;
  const progress = (): RestartProgress => {
    const { restarted, failed, open, passedOver, full, paused, aborted } = state;
    const inHand = state.inHand.map(({ vm }) => vm);
    return {
      phase,
      chosen,
      maxUnavailable,
      maxFailures,
      askedBy,
      reason,
      restarted,
      failed,
      inHand,
      open,
      passedOver,
      full,
      paused,
      aborted,
    };
  };
  const show = (now: RestartPhase): void => {
    if (now !== phase) upsertSearchAttributes([{ key: DroverPhase, value: now }]);
    phase = now;
    setCurrentDetails(restartDetails(progress()));
  };
  const showCurrent = (): void => show(state.paused === null ? 'Restarting' : 'Paused');
  const steering = new RunControls(state, {
    pauses: 'Restart no further VM until resume; those that restart already come back.',
    aborts: 'Restart no further VM, and end once those that restart already are back.',
    onAsked() {
      state.quietSince = Date.now();
      showCurrent();
    },
  });
  onQuery(restartProgress, progress);

  showCurrent();
  for (;;) {
    // Nothing is in flight here. What an abandoned wait has found is found again.
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof restartVms>({ ...input, carried: state });
    const found = await next();
    if (found === null) continue;
    settle(found);
    if (found.isOver && (state.paused === null || found.open === 0 || state.aborted !== null || isTripped())) break;
    if (found.isOver)
      await condition(() => state.paused === null || state.aborted !== null || workflowInfo().continueAsNewSuggested);
    else if (found.take.length > 0 && takes()) await take(found.take);
    showCurrent();
  }
  show(state.aborted !== null ? 'Aborted' : state.failed.length > 0 ? 'Failed' : 'Complete');
  return progress();

  function takes(): boolean {
    return state.paused === null && state.aborted === null && !isTripped();
  }

  /** Resolves with null if somebody asks for something meanwhile. */
  function next(): Promise<RestartLook | null> {
    const { inHand, seen, notBefore, quietSince, told } = state;
    const failed = state.failed.map(({ vm }) => vm);
    const request = {
      inHand: [...inHand],
      seen,
      notBefore,
      quietSince,
      told,
      failed,
      maxUnavailable,
      deadlineMs,
      takes: takes(),
    };
    return steering.look(() => awaiting().awaitRestarts(request));
  }

  function settle({ settled, open, passedOver, full, told, seen }: RestartLook): void {
    Object.assign(state, { open, passedOver, full, told });
    end(settled, seen);
    if (settled.length > 0) state.quietSince = Date.now();
  }

  async function take(vms: RestartLook['take']): Promise<void> {
    const takenAt = Date.now();
    state.inHand.push(...vms.map((vm) => ({ ...vm, takenAt })));
    state.open -= vms.length;
    showCurrent();
    const names = vms.map(({ vm }) => vm);
    const words = { summary: summary(`restart ${formatNames(names)}`) };
    const { inHand, seen } = state;
    const request = { vms: names, inHand: [...inHand], maxUnavailable, askedBy, reason, seen };
    const { outcomes, seen: newer } = await beginRestarts.executeWithOptions(words, [request]);
    end(outcomes, newer);
    const deferred = outcomes.filter((outcome) => outcome.end === 'Deferred').length;
    state.open += deferred;
    state.deferrals = deferred === vms.length ? state.deferrals + 1 : 0;
    if (state.deferrals === 0) state.quietSince = Date.now();
    else state.notBefore = Date.now() + backoffMs(state.deferrals);
  }

  function end(outcomes: readonly RestartOutcome[], seen: Seen): void {
    const held = new Map(state.inHand.map((one) => [one.vm, one]));
    for (const { vm, end, why = '' } of outcomes) {
      if (end === 'Restarted') state.restarted.push(vm);
      if (end === 'Failed') noteFailure(state.failed, { vm, why, wasDown: held.get(vm)?.wasDown ?? false });
      if (end === 'Failed') log.warn('a VM could not be restarted', { vm, why });
      held.delete(vm);
    }
    state.inHand = [...held.values()];
    state.seen = laterSeen(state.seen, seen);
  }
}

const begun = (): RestartState => ({
  inHand: [],
  restarted: [],
  failed: [],
  open: 0,
  passedOver: [],
  full: [],
  paused: null,
  aborted: null,
  told: null,
  quietSince: Date.now(),
  notBefore: 0,
  deferrals: 0,
  seen: {},
});
