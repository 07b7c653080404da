import {
  ActivityFailure,
  allHandlersFinished,
  condition,
  continueAsNew,
  isCancellation,
  log,
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
import { maxVersions, type ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { progressSentences } from '../../decisions/pool/in-progress.ts';
import type { PoolPlan } from '../../decisions/pool/plan.ts';
import type { Failure } from '../../decisions/pool/status.ts';
import { onQuery, onSignal } from '../handlers.ts';
import { Healings } from '../healing/healings.ts';
import { changed, progress, type PoolProgress, type PoolRef } from '../messages.ts';
import { Rollouts, type RolloutsState } from '../rollout/rollouts.ts';
import { DroverPhase, DroverRevision } from '../search-attributes.ts';
import { poolDetails } from './details.ts';
import { FailureBackoff, type FailureBackoffState } from './failure-backoff.ts';
import { InFlight } from './in-flight.ts';
import { StatusWriter } from './status-writer.ts';
import { begin, type StepContext } from './steps.ts';

export interface PoolInput extends PoolRef {
  /** What a run hands to the next when its history has grown long. */
  carried?: {
    uid?: string;
    seen: ResourceVersions;
    failureBackoff: FailureBackoffState;
    resultUnknown?: boolean;
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
type PlannedPool = Extract<Planned, { gone: false }>;

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
 * and go. The pool looks again when it is signalled, when a step has ended, and when the delay after a failure has passed.
 * A pool whose VMs are all as they should be waits for signals alone: it costs nothing.
 */
export const pool = ({ carried, ...ref }: PoolInput): Promise<void> => new PoolRun(ref, carried).untilGone();

class PoolRun {
  readonly #ref: PoolRef;
  readonly #inProgress = new InFlight();
  readonly #failureBackoff: FailureBackoff;
  readonly #statusWriter: StatusWriter;
  readonly #rollouts: Rollouts;
  readonly #healings: Healings;
  #seen: ResourceVersions;
  #uid: string | undefined;
  /** Whether a step has failed with an unknown part of it done. */
  #resultUnknown: boolean;
  #turnRequested = true;
  #isPlanning = false;
  /** Failed plans in a row. */
  #failures = 0;
  /** VMs of batches, in all plans of this run. */
  #vmsHanded = 0;
  #phase: PoolPlan['phase'] | undefined;
  #target: string | undefined;
  #generation: number | undefined;
  #starting: number | undefined;

  constructor(ref: PoolRef, carried: PoolInput['carried']) {
    this.#ref = ref;
    this.#seen = carried?.seen ?? {};
    this.#uid = carried?.uid;
    this.#resultUnknown = carried?.resultUnknown ?? false;
    this.#failureBackoff = new FailureBackoff(carried?.failureBackoff);
    const inProgress = this.#inProgress;
    const onChange = (newer?: ResourceVersions): void => this.#requestTurn(newer);
    this.#statusWriter = new StatusWriter({
      inProgress,
      failureBackoff: this.#failureBackoff,
      onWritten: (newer, isDue) => {
        this.#seen = maxVersions(this.#seen, newer);
        // A plan in progress may have seen the status before this write.
        this.#turnRequested ||= isDue || this.#isPlanning;
      },
    });
    this.#rollouts = new Rollouts({
      ref,
      state: carried?.rollouts,
      inProgress,
      onChange,
      onTrouble: (message) => this.#failureBackoff.note('BatchNotBegun', message),
    });
    this.#healings = new Healings({ ref, state: carried?.healing ?? null, inProgress, onChange });
    onSignal(changed, 'Look again at the pool and its VMs.', onChange);
    onQuery(progress, () => this.#progress());
  }

  async untilGone(): Promise<void> {
    for (;;) {
      this.#turnRequested = false;
      const wasWaiting = this.#failureBackoff.isWaiting();
      const asked = { seen: this.#seen, failure: this.#failureBackoff.state.failure };
      const planned = await this.#plan();
      if (planned === null) await this.#waitToPlanAgain();
      else if (!planned.gone && this.#uid !== undefined && planned.key.uid !== this.#uid) this.#reset(planned.key.uid);
      else {
        if (!planned.gone) this.#carryOut(planned, asked);
        else if (this.#inProgress.isEmpty && !this.#turnRequested) return;
        this.#showDetails(planned);
        await this.#continueAsNewIfLong();
        // Otherwise, the delay that held the plan back is over: it ended, the failure passed, or the pool was edited.
        if (!wasWaiting || this.#failureBackoff.isWaiting()) await this.#wait(planned);
      }
    }
  }

  #requestTurn(newer: ResourceVersions = {}): void {
    this.#seen = maxVersions(this.#seen, newer);
    this.#turnRequested = true;
  }

  #progress(): PoolProgress {
    const failureBackoff = this.#failureBackoff;
    const { batches, rollout } = this.#rollouts.state;
    return {
      creating: this.#inProgress.names('creating'),
      deleting: this.#inProgress.names('deleting'),
      doing: progressSentences({
        doing: this.#inProgress.reasons(),
        batches,
        cycles: this.#healings.state?.cycles ?? [],
        starting: this.#starting,
      }),
      recentErrors: failureBackoff.state.recentErrors,
      retryAt: failureBackoff.isWaiting() ? new Date(failureBackoff.state.retryAt!).toISOString() : null,
      updating: batches.map(({ n, revision, vms }) => ({ n, revision, vms: vms.map((vm) => vm.name) })),
      rollout,
    };
  }

  /** Resolves with null if no plan could be made, because the API server is down or this worker can't reach it. */
  async #plan(): Promise<Planned | null> {
    const resultUnknown = this.#resultUnknown;
    this.#resultUnknown = false;
    const request = this.#planRequest(resultUnknown);
    this.#vmsHanded += request.batches.reduce((sum, { vms }) => sum + vms.length, 0);
    this.#isPlanning = true;
    try {
      return await plan.executeWithOptions({ summary: 'look at the pool and its VMs, and plan the next steps' }, [
        request,
      ]);
    } catch (error) {
      if (isCancellation(error)) throw error;
      // Errors thrown by a local activity are not always wrapped.
      const { message } = error instanceof ActivityFailure ? (error.cause ?? error) : (error as Error);
      log.warn('the pool could not be looked at', { message });
      this.#failureBackoff.note('NotPlanned', message);
      this.#resultUnknown ||= resultUnknown;
      return null;
    } finally {
      this.#isPlanning = false;
    }
  }

  #planRequest(resultUnknown: boolean): PlanRequest {
    const inProgress = this.#inProgress;
    const failureBackoff = this.#failureBackoff;
    return {
      namespace: this.#ref.namespace,
      name: this.#ref.name,
      seen: this.#seen,
      resultUnknown,
      inProgress: {
        creating: inProgress.names('creating'),
        deleting: inProgress.names('deleting'),
        cancelled: inProgress.names('cancelled'),
      },
      allowance: failureBackoff.allowance(inProgress.has('creating') || inProgress.has('deleting')),
      refused: failureBackoff.refused(),
      failure: failureBackoff.state.failure,
      ...this.#rollouts.request(),
      ...this.#healings.request(),
    };
  }

  async #waitToPlanAgain(): Promise<void> {
    const delayMs = Math.min(backoffMs(++this.#failures), PLAN_AGAIN_MS);
    await sleep(delayMs, { summary: 'the delay after a look that failed' });
    await this.#continueAsNewIfLong();
  }

  /**
   * The pool was deleted and created again in between: what is known about the old pool must not affect the new one.
   */
  #reset(uid: string): void {
    this.#failures = 0;
    this.#uid = uid;
    this.#generation = undefined;
    this.#failureBackoff.reset();
    this.#rollouts.reset(uid);
    this.#healings.reset();
  }

  /** Begins the plan's steps, without waiting for them. `asked`: what the plan was asked with. */
  #carryOut(planned: PlannedPool, asked: { seen: ResourceVersions; failure: Failure | null }): void {
    const { key, status, rollout } = planned;
    this.#failures = 0;
    this.#uid = key.uid;
    this.#starting = planned.phase === 'Starting' ? planned.counts.present - planned.counts.ready : 0;
    // Not the later of the two: a cluster that was restored from a backup counts from an older version.
    if (this.#seen === asked.seen) this.#seen = planned.seen;
    if (this.#generation !== undefined && planned.generation !== this.#generation) this.#failureBackoff.tryNow();
    this.#generation = planned.generation;
    // A failure that came during planning is not the one that the plan saw pass.
    if (asked.failure !== null && planned.failure === null && this.#failureBackoff.state.failure === asked.failure)
      this.#failureBackoff.passed();
    this.#beginSteps(planned);
    if (status !== null) this.#statusWriter.write(key, toldWhole(status, planned.healing));
    else this.#statusWriter.keep();
    if (rollout.target !== this.#target)
      upsertSearchAttributes([{ key: DroverRevision, value: (this.#target = rollout.target) }]);
    if (planned.phase !== this.#phase)
      upsertSearchAttributes([{ key: DroverPhase, value: (this.#phase = planned.phase) }]);
  }

  #beginSteps(planned: PlannedPool): void {
    const { key, steps, generation } = planned;
    // If a person has asked for something meanwhile, that comes first.
    const isCurrent = this.#rollouts.taken(planned);
    const leaving = [
      ...this.#inProgress.names('deleting'),
      ...steps.flatMap((step) => (step.kind === 'delete' || step.kind === 'halt' ? step.vms.map((vm) => vm.name) : [])),
    ];
    const context: StepContext = {
      key,
      generation,
      leaving,
      seen: this.#seen,
      inProgress: this.#inProgress,
      failureBackoff: this.#failureBackoff,
      rollouts: this.#rollouts,
      onEnd: (newer) => {
        this.#resultUnknown ||= newer === null;
        this.#requestTurn(newer ?? {});
      },
    };
    for (const step of steps) if (isCurrent || step.kind !== 'update') begin(step, context);
    this.#healings.taken(key, planned);
    this.#turnRequested ||= !isCurrent;
  }

  #showDetails(planned: Planned): void {
    const { state } = this.#failureBackoff;
    setCurrentDetails(poolDetails(planned, this.#inProgress.reasons(), state, this.#rollouts.state));
  }

  async #continueAsNewIfLong(): Promise<void> {
    const inProgress = this.#inProgress;
    // Creations and deletions may take minutes, during which a pool that waits for them would not answer.
    const isLong = this.#vmsHanded >= MOST_VMS_HANDED && !inProgress.has('creating') && !inProgress.has('deleting');
    if (!isLong && !workflowInfo().continueAsNewSuggested) return;
    await condition(() => inProgress.isEmpty && allHandlersFinished());
    await continueAsNew<typeof pool>({
      ...this.#ref,
      carried: {
        ...(this.#uid === undefined ? {} : { uid: this.#uid }),
        seen: this.#seen,
        failureBackoff: this.#failureBackoff.state,
        resultUnknown: this.#resultUnknown,
        rollouts: this.#rollouts.state,
        healing: this.#healings.state,
      },
    });
  }

  /** Waits until something may have changed. */
  async #wait(planned: Planned): Promise<void> {
    const awake = (): boolean => this.#turnRequested || (planned.gone && this.#inProgress.isEmpty);
    const wait = nextWait(this.#failureBackoff.delayMs(), planned);
    if (wait === null) await condition(awake);
    else await condition(awake, wait.ms, { summary: wait.summary });
  }
}

/** Returns the next moment at which time alone may change something; null if only an event can. */
function nextWait(delayMs: number | undefined, planned: Planned): { ms: number; summary: string } | null {
  const wakeAt = planned.gone ? null : planned.wakeAt;
  const rolloutMs = wakeAt === null ? Infinity : Math.max(wakeAt - Date.now(), LEAST_WAIT_MS);
  if (delayMs !== undefined && delayMs <= rolloutMs) return { ms: delayMs, summary: 'the delay after a failure' };
  return rolloutMs === Infinity ? null : { ms: rolloutMs, summary: 'the rollout goes on by the clock' };
}
