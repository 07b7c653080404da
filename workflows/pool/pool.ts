import {
  ActivityFailure,
  allHandlersFinished,
  condition,
  continueAsNew,
  isCancellation,
  log,
  patched,
  proxyLocalActivities,
  setCurrentDetails,
  sleep,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { PoolActivities } from '../../activities/pool/pool.ts';
import type { Planned, PlanRequest } from '../../activities/pool/types.ts';
import { toldWhole } from '../../decisions/healing/conditions.ts';
import type { HealingState } from '../../decisions/healing/state.ts';
import { backoffMs } from '../../decisions/lib/backoff.ts';
import { laterSeen, type Seen } from '../../decisions/lib/resource-versions.ts';
import { inProgress } from '../../decisions/pool/in-progress.ts';
import type { PoolPlan } from '../../decisions/pool/plan.ts';
import { onQuery, onSignal } from '../handlers.ts';
import { Healings } from '../healing/healings.ts';
import { changed, progress, type PoolRef } from '../messages.ts';
import { Rollouts, type RolloutsState } from '../rollout/rollouts.ts';
import { DroverPhase, DroverRevision } from '../search-attributes.ts';
import { poolDetails } from './details.ts';
import { InFlight } from './in-flight.ts';
import { Setbacks, type SetbacksState } from './setbacks.ts';
import { StatusWriter } from './status-writer.ts';
import { begin } from './steps.ts';

export interface PoolInput extends PoolRef {
  /** What a run hands to the next when its history has grown long. */
  carried?: {
    uid?: string;
    seen: Seen;
    setbacks: SetbacksState;
    inDoubt?: boolean;
    rollouts?: RolloutsState;
    healing?: HealingState | null;
  };
}

/**
 * Failures that last longer than a few tries are waited for by a timer: people can't read a workflow task that never
 * ends.
 */
const { plan } = proxyLocalActivities<PoolActivities>({
  startToCloseTimeout: '60s',
  retry: { initialInterval: '200ms', maximumInterval: '2s', maximumAttempts: 3 },
});
const PLAN_AGAIN_MS = 10_000;
/**
 * A worker keeps the input of a run's local activities until the run ends, and each plan's input has all VMs of the
 * batches: 200 bytes for each. Twenty pools of 500 VMs held 150 MB, long before Temporal called their histories long.
 */
const MOST_VMS_HANDED = 2_500;

/**
 * The clocks of the worker and of Temporal differ by a little: waiting for a moment that has just passed must not spin.
 */
const LEAST_WAIT_MS = 50;

/**
 * Keeps one pool as its spec says, for as long as the pool exists.
 *
 * Each turn plans the next steps and begins them, but waits for none, so that the pool keeps answering while VMs come
 * and go. The pool looks again when it is nudged, when a step has ended, and when the delay after a failure has passed.
 * A pool whose VMs are all as they should be waits for nudges alone: it costs nothing.
 */
export async function pool({ carried, ...ref }: PoolInput): Promise<void> {
  const setbacks = new Setbacks(carried?.setbacks);
  const underWay = new InFlight();
  let seen: Seen = carried?.seen ?? {};
  let turnRequested = true;
  let phase: PoolPlan['phase'] | undefined;
  let goal: string | undefined;
  let generation: number | undefined;
  let uid = carried?.uid;
  /** Whether a step has failed with an unknown part of it done. */
  let inDoubt = carried?.inDoubt ?? false;
  let isPlanning = false;
  let starting: number | undefined;

  const requestTurn = (newer: Seen = {}): void => {
    seen = laterSeen(seen, newer);
    turnRequested = true;
  };
  const statusWriter = new StatusWriter({
    underWay,
    setbacks,
    onWritten: (newer, isDue) => {
      seen = laterSeen(seen, newer);
      // A plan in progress may have seen the status before this write.
      turnRequested ||= isDue || (isPlanning && patched('status-written-while-planning'));
    },
  });
  const rollouts = new Rollouts({
    ref,
    state: carried?.rollouts,
    underWay,
    onChange: requestTurn,
    onTrouble: (message) => setbacks.note('BatchNotBegun', message),
  });
  const healings = new Healings({ ref, state: carried?.healing ?? null, underWay, onChange: requestTurn });
  const laneEnded = (newer: Seen | null): void => {
    inDoubt ||= newer === null;
    requestTurn(newer ?? {});
  };
  onSignal(changed, 'Look again at the pool and its VMs.', requestTurn);
  onQuery(progress, () => ({
    creating: underWay.names('creating'),
    deleting: underWay.names('deleting'),
    doing: inProgress({
      doing: underWay.reasons(),
      batches: rollouts.state.batches,
      cycles: healings.state?.cycles ?? [],
      starting,
    }),
    troubles: setbacks.state.troubles,
    retryAt: setbacks.isWaiting() ? new Date(setbacks.state.retryAt!).toISOString() : null,
    updating: rollouts.state.batches.map(({ n, revision, vms }) => ({ n, revision, vms: vms.map((vm) => vm.name) })),
    rollout: rollouts.state.rollout,
  }));

  /** VMs of batches, in all plans of this run. */
  let handed = 0;
  const anewIfLong = async (): Promise<void> => {
    // Creations and deletions may take minutes, during which a pool that waits for them would not answer.
    const isLong =
      handed >= MOST_VMS_HANDED && !underWay.has('creating') && !underWay.has('deleting') && patched('vms-handed');
    if (!isLong && !workflowInfo().continueAsNewSuggested) return;
    await condition(() => underWay.isEmpty && allHandlersFinished());
    await continueAsNew<typeof pool>({
      ...ref,
      carried: {
        ...(uid === undefined ? {} : { uid }),
        seen,
        setbacks: setbacks.state,
        inDoubt,
        rollouts: rollouts.state,
        healing: healings.state,
      },
    });
  };
  const failed = (message: string): void => {
    log.warn('the pool could not be looked at', { message });
    setbacks.note('NotPlanned', message);
  };
  /** Failed looks in a row. */
  let failures = 0;

  for (;;) {
    turnRequested = false;
    const asked = { seen, inDoubt, failure: setbacks.state.failure };
    inDoubt = false;
    const busy = underWay.has('creating') || underWay.has('deleting');
    const waiting = setbacks.isWaiting();
    const rolloutState = rollouts.request();
    handed += rolloutState.batches.reduce((sum, { vms }) => sum + vms.length, 0);
    isPlanning = true;
    const planned = await planOr(failed, {
      namespace: ref.namespace,
      name: ref.name,
      seen: asked.seen,
      inDoubt: asked.inDoubt,
      underWay: { creating: underWay.names('creating'), deleting: underWay.names('deleting') },
      allowance: setbacks.allowance(busy),
      refused: setbacks.refused(),
      failure: asked.failure,
      ...rolloutState,
      ...healings.request(),
    });
    isPlanning = false;
    if (planned === null) {
      inDoubt ||= asked.inDoubt;
      await sleep(Math.min(backoffMs(++failures), PLAN_AGAIN_MS), { summary: 'the delay after a look that failed' });
      await anewIfLong();
      continue;
    }
    failures = 0;
    if (!planned.gone && uid !== undefined && planned.key.uid !== uid) {
      // The pool was deleted and created again in between: what is known about the old pool must not affect the new
      // one.
      ({ uid } = planned.key);
      generation = undefined;
      setbacks.reset();
      rollouts.reset(uid);
      healings.reset(uid);
      continue;
    }
    if (!planned.gone) {
      const { key, steps, status } = planned;
      ({ uid } = key);
      starting = planned.phase === 'Starting' ? planned.counts.present - planned.counts.ready : 0;
      // Not the later of the two: a cluster that was restored from a backup counts from an older version.
      if (seen === asked.seen) seen = planned.seen;
      if (generation !== undefined && planned.generation !== generation) setbacks.tryNow();
      ({ generation } = planned);
      // A failure that came during planning is not the one that the plan saw pass.
      if (asked.failure !== null && planned.failure === null && setbacks.state.failure === asked.failure)
        setbacks.passed();
      // If a person has asked for something meanwhile, that comes first.
      const isCurrent = rollouts.taken(planned);
      const leaving = [
        ...underWay.names('deleting'),
        ...steps.flatMap((step) =>
          step.kind === 'delete' || step.kind === 'halt' ? step.vms.map((vm) => vm.name) : [],
        ),
      ];
      const context = { key, generation, leaving, seen, underWay, setbacks, rollouts, onEnd: laneEnded };
      for (const step of steps) if (isCurrent || step.kind !== 'update') begin(step, context);
      healings.taken(key, planned);
      turnRequested ||= !isCurrent;
      if (status !== null) statusWriter.write(key, toldWhole(status, planned.healing));
      else if (planned.rollout !== undefined) statusWriter.keep();
      if (planned.rollout !== undefined && planned.rollout.goal !== goal)
        upsertSearchAttributes([{ key: DroverRevision, value: (goal = planned.rollout.goal) }]);
      if (planned.phase !== phase) upsertSearchAttributes([{ key: DroverPhase, value: (phase = planned.phase) }]);
    } else if (underWay.isEmpty && !turnRequested) return;

    setCurrentDetails(poolDetails(planned, underWay.reasons(), setbacks.state, rollouts.state));
    await anewIfLong();
    // The delay that held the plan back is over: it ended, the failure passed, or the pool was edited.
    if (waiting && !setbacks.isWaiting()) continue;
    const awake = (): boolean => turnRequested || (planned.gone && underWay.isEmpty);
    const wait = nextWait(setbacks.delayMs(), planned);
    if (wait === null) await condition(awake);
    else await condition(awake, wait.ms, { summary: wait.summary });
  }
}

/** Resolves with null if no plan could be made, because the API server is down or this worker can't reach it. */
async function planOr(failed: (message: string) => void, request: PlanRequest): Promise<Planned | null> {
  try {
    return await plan.executeWithOptions({ summary: 'look at the pool and its VMs, and plan the next steps' }, [
      request,
    ]);
  } catch (error) {
    if (isCancellation(error)) throw error;
    // Errors thrown by a local activity are not always wrapped.
    const { message } = error instanceof ActivityFailure ? (error.cause ?? error) : (error as Error);
    failed(message);
    return null;
  }
}

/** Returns the next moment at which time alone may change something; null if only an event can. */
function nextWait(delayMs: number | undefined, planned: Planned): { ms: number; summary: string } | null {
  const wakeAt = planned.gone ? null : (planned.wakeAt ?? null);
  const rolloutMs = wakeAt === null ? Infinity : Math.max(wakeAt - Date.now(), LEAST_WAIT_MS);
  if (delayMs !== undefined && delayMs <= rolloutMs) return { ms: delayMs, summary: 'the delay after a failure' };
  return rolloutMs === Infinity ? null : { ms: rolloutMs, summary: 'the rollout goes on by the clock' };
}
