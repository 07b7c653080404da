import { ActivityFailure, log, proxyActivities, TimeoutFailure } from '@temporalio/workflow';
import type { HealActivities } from '../../activities/healing/replace-vm.ts';
import type { PoolActivities } from '../../activities/pool/pool.ts';
import type { Done, PoolKey } from '../../activities/pool/types.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { summary } from '../../decisions/lib/summary.ts';
import type { Failure } from '../../decisions/pool/status.ts';
import type { PoolStep, Target } from '../../decisions/pool/steps.ts';
import type { Departure } from '../../decisions/scaling/departure.ts';
import { vmName } from '../../decisions/scaling/vm-names.ts';
import type { Rollouts } from '../rollout/rollouts.ts';
import type { FailureBackoff } from './failure-backoff.ts';
import type { LaneKind, InFlight } from './in-flight.ts';

/**
 * How many VMs one activity creates or deletes. Activities run in parallel with different sizes, so that they end one
 * after another and the API server is never idle between them.
 */
const LANES = { first: 42, second: 84, longest: 126 };

const { createVms, deleteVms, haltVms, releaseVms, discardDisks, unmarkDisks } = proxyActivities<PoolActivities>({
  startToCloseTimeout: '15m',
  heartbeatTimeout: '10s',
  // A step that no worker has started by then is planned again.
  scheduleToStartTimeout: '2m',
  // The pool reports and waits out longer failures: its status says why nothing happens.
  retry: { initialInterval: '500ms', maximumInterval: '30s', maximumAttempts: 4 },
});
const { setFinalizer } = proxyActivities<PoolActivities>({
  startToCloseTimeout: '60s',
  retry: { initialInterval: '500ms', maximumInterval: '30s' },
});
export const { writeStatus, noteRuns } = proxyActivities<PoolActivities & HealActivities>({
  startToCloseTimeout: '5m',
  heartbeatTimeout: '10s',
  retry: { initialInterval: '500ms', maximumAttempts: 4 },
});
export const { keepRevision, pruneRevisions, recordHealing } = proxyActivities<PoolActivities & HealActivities>({
  startToCloseTimeout: '60s',
  // What can't be written is left to the next plan.
  retry: { initialInterval: '500ms', maximumAttempts: 4 },
});

export interface StepContext {
  key: PoolKey;
  /** Generation of the pool's spec that the step was planned for. */
  generation: number;
  /** Names of all VMs that leave the pool now, including those of the same plan. */
  leaving: readonly string[];
  seen: ResourceVersions;
  inProgress: InFlight;
  failureBackoff: FailureBackoff;
  rollouts: Rollouts;
  /**
   * Called when a lane has ended, with the resource versions that a later plan must have seen; null if it is unknown
   * what the lane has done.
   */
  onEnd: (seen: ResourceVersions | null) => void;
}

/** Begins a step, in as many lanes as it needs, and returns at once: the lanes report their ends. */
export function begin(step: PoolStep, context: StepContext): void {
  const { key, generation, seen, failureBackoff } = context;
  const { reason } = step;
  // The Web UI shows it beside the activity; Temporal accepts at most 200 bytes.
  const words = { summary: summary(reason) };
  const leave = (vms: readonly Target[], act: () => Promise<Done>): void =>
    inLane({ kind: 'deleting', names: vms.map((vm) => vm.name), reason }, context, 'FailedDelete', act);
  switch (step.kind) {
    case 'create':
      for (const numbers of lanes(step.numbers)) {
        const names = numbers.map((number) => vmName(key.name, number));
        inLane({ kind: 'creating', names, reason }, context, 'FailedCreate', () =>
          createVms.executeWithOptions(words, [
            key,
            numbers,
            step.revision,
            seen,
            { generation, skipSlowStart: failureBackoff.hasProven },
          ]),
        );
      }
      return;
    case 'delete':
      for (const vms of lanes(step.vms))
        leave(vms, () =>
          deleteVms.executeWithOptions(words, [key, vms, step.keepDisks, departureOf(step, vms, context), seen]),
        );
      return;
    case 'halt':
      for (const vms of lanes(step.vms))
        leave(vms, () => haltVms.executeWithOptions(words, [key, vms, departureOf(step, vms, context), seen]));
      return;
    case 'release':
      for (const vms of lanes(step.vms)) leave(vms, () => releaseVms.executeWithOptions(words, [key, vms]));
      return;
    case 'discard':
      if (context.inProgress.has('disks')) return;
      return inLane({ kind: 'disks', names: [], reason }, context, 'FailedCreate', () =>
        discardDisks.executeWithOptions(words, [key, step.claims]),
      );
    case 'unmark':
      return tidy(context, 'notes', reason, () => unmarkDisks.executeWithOptions(words, [key, step.claims]));
    case 'update':
      context.rollouts.begin(key, step, seen);
      return;
    case 'keep':
      return tidy(context, 'revisions', reason, () => keepRevision.executeWithOptions(words, [key]));
    case 'mark':
      return tidy(context, 'notes', reason, () => noteRuns.executeWithOptions(words, [key, step.vms]));
    case 'prune':
      return tidy(context, 'revisions', reason, () => pruneRevisions.executeWithOptions(words, [key, step.revisions]));
    case 'hold':
    case 'let-go':
      if (context.inProgress.has('finalizer')) return;
      inLane({ kind: 'finalizer', names: [], reason }, context, 'FailedDelete', async () => ({
        ...nothing,
        seen: await setFinalizer.executeWithOptions(words, [key, step.kind === 'hold']),
      }));
  }
}

/**
 * Runs housekeeping that may fail, since it can be done later. If another of its kind is running, the step is planned
 * again when that has ended.
 */
function tidy(
  { inProgress, onEnd }: StepContext,
  kind: 'revisions' | 'notes',
  reason: string,
  act: () => Promise<void>,
): void {
  if (inProgress.has(kind)) return inProgress.hold(kind);
  const run = inProgress.run({ kind, reason }, () =>
    act().catch((error: unknown) => log.warn('a step failed', { reason, error: String(error) })),
  );
  void run.then(() => {
    if (inProgress.wasHeld(kind)) onEnd({});
  });
}

const nothing: Done = { count: 0, taken: [], notWanted: [], refused: null, seen: {} };

function inLane(
  lane: { kind: LaneKind; names: string[]; reason: string },
  { inProgress, failureBackoff, onEnd }: StepContext,
  failure: Failure['reason'],
  act: () => Promise<Done>,
): void {
  let seen: ResourceVersions | null = null;
  // A step does not count as failed if the pool has been replaced by then.
  const { state } = failureBackoff;
  const isOfPool = (): boolean => failureBackoff.state === state;
  const run = inProgress.run(lane, async () => {
    try {
      const done = await act();
      seen = done.seen;
      if (!isOfPool()) return;
      if (done.refused !== null) failureBackoff.failed(failure, done.refused.message, done.refused, done.count);
      else if (done.count > 0) failureBackoff.succeeded(failure);
    } catch (error) {
      // No worker has started it in time. It is unknown whether an earlier attempt has done something.
      if (
        error instanceof ActivityFailure &&
        error.cause instanceof TimeoutFailure &&
        error.cause.timeoutType === 'SCHEDULE_TO_START'
      ) {
        log.info('a step is planned again, for no worker has begun it', { reason: lane.reason });
        return;
      }
      const { message } = error instanceof ActivityFailure ? (error.cause ?? error) : (error as Error);
      log.error('a step failed', { reason: lane.reason, message });
      if (isOfPool()) failureBackoff.failed(failure, message);
    }
  });
  void run.then(() => onEnd(seen));
}

function departureOf(
  { because }: { because: Departure['because'] },
  vms: readonly Target[],
  { generation, leaving }: StepContext,
): Departure {
  if (because !== 'surplus') return { because };
  const own = new Set(vms.map((vm) => vm.name));
  return { because, generation, others: leaving.filter((name) => !own.has(name)) };
}

function lanes<T>(items: readonly T[]): T[][] {
  const { first, second, longest } = LANES;
  if (items.length <= longest) return [[...items]];
  return [items.slice(0, first), items.slice(first, first + second), ...lanes(items.slice(first + second))];
}
