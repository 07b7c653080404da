import { ActivityFailure, log, proxyActivities, TimeoutFailure } from '@temporalio/workflow';
import type { PoolActivities } from '../../activities/pool/pool.ts';
import type { Done, OwnerKey } from '../../activities/pool/types.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { summary } from '../../decisions/lib/summary.ts';
import type { Failure } from '../../decisions/pool/status.ts';
import type { Target } from '../../decisions/pool/steps.ts';
import type { Departure } from '../../decisions/scaling/departure.ts';
import type { RemovalStep } from '../../decisions/scaling/removal.ts';
import type { FailureBackoff } from '../pool/failure-backoff.ts';
import type { LaneKind, InFlight } from '../pool/in-flight.ts';

/**
 * How many VMs one activity creates or deletes. Activities run in parallel with different sizes, so that they end one
 * after another and the API server is never idle between them.
 */
const LANES = { first: 42, second: 84, longest: 126 };

/** Options of an activity that acts on many VMs. */
export const ON_VMS = {
  startToCloseTimeout: '15m',
  heartbeatTimeout: '10s',
  // A step that no worker has started by then is planned again.
  scheduleToStartTimeout: '2m',
  // The owner reports and waits out longer failures: its status says why nothing happens.
  retry: { initialInterval: '500ms', maximumInterval: '30s', maximumAttempts: 4 },
} as const;

const { deleteVms, haltVms, releaseVms } = proxyActivities<PoolActivities>(ON_VMS);
const { setFinalizer } = proxyActivities<PoolActivities>({
  startToCloseTimeout: '60s',
  retry: { initialInterval: '500ms', maximumInterval: '30s' },
});

export interface OwnerStepContext {
  key: OwnerKey;
  /** Generation of the spec that the step was planned for. */
  generation: number;
  /** Names of all VMs that leave now, including those of the same plan. */
  leaving: readonly string[];
  seen: ResourceVersions;
  inProgress: InFlight;
  failureBackoff: FailureBackoff;
  /**
   * Called when a lane has ended, with the resource versions that a later plan must have seen; null if it is unknown
   * what the lane has done.
   */
  onEnd: (seen: ResourceVersions | null) => void;
}

/** Begins a step by which VMs leave their owner, or the owner itself goes, and returns at once. */
export function beginRemoval(step: RemovalStep, context: OwnerStepContext): void {
  const { key, seen } = context;
  const { reason } = step;
  // The Web UI shows it beside the activity; Temporal accepts at most 200 bytes.
  const words = { summary: summary(reason) };
  const leave = (vms: readonly Target[], failure: Failure['reason'], act: () => Promise<Done>): void =>
    inLane({ kind: 'deleting', names: vms.map((vm) => vm.name), reason }, context, failure, act);
  switch (step.kind) {
    case 'delete':
      for (const vms of lanes(step.vms))
        leave(vms, 'FailedDelete', () =>
          deleteVms.executeWithOptions(words, [key, vms, step.keepDisks, departureOf(step, vms, context), seen]),
        );
      return;
    case 'halt':
      for (const vms of lanes(step.vms))
        leave(vms, 'FailedDelete', () =>
          haltVms.executeWithOptions(words, [key, vms, departureOf(step, vms, context), seen]),
        );
      return;
    case 'release': {
      const { because } = step;
      for (const vms of lanes(step.vms))
        leave(vms, because === undefined ? 'FailedDelete' : 'FailedRelease', () =>
          releaseVms.executeWithOptions(words, because === undefined ? [key, vms] : [key, vms, because]),
        );
      return;
    }
    case 'hold':
    case 'let-go':
      if (context.inProgress.has('finalizer')) return;
      inLane({ kind: 'finalizer', names: [], reason }, context, 'FailedDelete', async () => ({
        ...nothing,
        seen: await setFinalizer.executeWithOptions(words, [key, step.kind === 'hold']),
      }));
  }
}

const nothing: Done = { count: 0, taken: [], notWanted: [], refused: null, seen: {} };

export interface Lane {
  kind: LaneKind;
  names: string[];
  reason: string;
  /** Called with what the lane has done; null if that is unknown. Not called if the owner has been replaced by then. */
  onDone?: (done: Done | null) => void;
}

/** Runs an activity on VMs, and notes its failure; the context hears of its end. */
export function inLane(
  { onDone, ...lane }: Lane,
  { inProgress, failureBackoff, onEnd }: OwnerStepContext,
  failure: Failure['reason'],
  act: () => Promise<Done>,
): void {
  let seen: ResourceVersions | null = null;
  // A step does not count as failed if the owner has been replaced by then.
  const { state } = failureBackoff;
  const isOfOwner = (): boolean => failureBackoff.state === state;
  const run = inProgress.run(lane, async () => {
    try {
      const done = await act();
      seen = done.seen;
      if (!isOfOwner()) return;
      onDone?.(done);
      if (done.refused !== null) failureBackoff.failed(failure, done.refused.message, done.refused, done.count);
      else if (done.count > 0) failureBackoff.succeeded(failure);
    } catch (error) {
      if (isOfOwner()) onDone?.(null);
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
      if (isOfOwner()) failureBackoff.failed(failure, message);
    }
  });
  void run.then(() => onEnd(seen));
}

function departureOf(
  { because }: { because: Departure['because'] },
  vms: readonly Target[],
  { generation, leaving }: OwnerStepContext,
): Departure {
  if (because !== 'surplus' && because !== 'surplus at rest' && because !== 'standby surplus') return { because };
  const own = new Set(vms.map((vm) => vm.name));
  return { because, generation, others: leaving.filter((name) => !own.has(name)) };
}

/** Splits what is to be done into the parts that activities take. */
export function lanes<T>(items: readonly T[]): T[][] {
  const { first, second, longest } = LANES;
  if (items.length <= longest) return [[...items]];
  return [items.slice(0, first), items.slice(first, first + second), ...lanes(items.slice(first + second))];
}
