import { ActivityFailure, ApplicationFailure, log, proxyActivities, TimeoutFailure } from '@temporalio/workflow';
import type { Done, Refused } from '../../activities/owners/done.ts';
import type { OwnerKey } from '../../activities/owners/owner-key.ts';
import type { Acted, RefusedType } from '../../activities/owners/try-each.ts';
import type { PoolActivities } from '../../activities/pool/pool.ts';
import type { ActEnd, BegunAct } from '../../decisions/history/act.ts';
import { ACT_ENDS } from '../../decisions/history/ends.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { summary } from '../../decisions/lib/summary.ts';
import { failureOf, type FailureReason } from '../../decisions/owners/failures.ts';
import { HOUSEKEEPING, type HousekeepingKind } from '../../decisions/owners/housekeeping.ts';
import type { Target, RemovalCause } from '../../decisions/owners/steps.ts';
import type { RemovalStep } from '../../decisions/scaling/removal.ts';
import type { Journal } from '../history/journal.ts';
import type { FailureBackoff } from './failure-backoff.ts';
import type { InFlight, OperationKind } from './in-flight.ts';

/**
 * How many VMs one activity creates or deletes. Activities run in parallel with different sizes, so that they end one
 * after another and the API server is never idle between them.
 */
const CHUNK_SIZES = { first: 42, second: 84, longest: 126 };

/** Options of an activity that acts on many VMs. */
export const ON_VMS = {
  startToCloseTimeout: '15m',
  heartbeatTimeout: '10s',
  // A step that no worker has started by then is planned again.
  scheduleToStartTimeout: '2m',
  // The owner reports and waits out longer failures: its status says why nothing happens.
  retry: { initialInterval: '500ms', maximumInterval: '30s', maximumAttempts: 4 },
} as const;

/** Options of an activity that makes a few writes. Its owner reports a longer failure, and plans the write again. */
export const FEW_WRITES = {
  startToCloseTimeout: '60s',
  retry: { initialInterval: '500ms', maximumAttempts: 4 },
} as const;

/** The same for an activity that makes more writes than a minute may suffice for. */
export const MANY_WRITES = { ...FEW_WRITES, startToCloseTimeout: '5m', heartbeatTimeout: '10s' } as const;

const { deleteVms, haltVms, releaseVms } = proxyActivities<PoolActivities>(ON_VMS);
const { setFinalizer, recordUid } = proxyActivities<PoolActivities>(FEW_WRITES);

export interface OwnerStepContext {
  key: OwnerKey;
  /** Generation of the spec that the step was planned for. */
  generation: number;
  /** Names of all VMs that leave now, including those of the same plan. */
  leaving: readonly string[];
  minVersions: ResourceVersions;
  inProgress: InFlight;
  failureBackoff: FailureBackoff;
  journal: Pick<Journal, 'begin'>;
  /**
   * Called when an operation has ended, with the resource versions that a later plan must have seen; null if it is
   * unknown what the operation has done.
   */
  onEnd: (minVersions: ResourceVersions | null) => void;
}

/** What remembers what is in flight, and what has failed. */
type OperationContext = Pick<OwnerStepContext, 'inProgress' | 'failureBackoff' | 'journal' | 'onEnd'>;

/** Begins a step by which VMs leave their owner, or the owner itself goes, and returns at once. */
export function beginRemoval(step: RemovalStep, context: OwnerStepContext): void {
  const { key, minVersions } = context;
  const { reason } = step;
  // The Web UI shows it next to the activity; Temporal accepts at most 200 bytes.
  const options = { summary: summary(reason) };
  const failure = failureOf(step)!;
  const leaving = { kind: 'deleting', reason, act: { action: step.kind } } as const;
  switch (step.kind) {
    case 'delete':
      return runInParts(step.vms, leaving, context, failure, (vms) =>
        deleteVms.executeWithOptions(options, [
          key,
          vms,
          step.keepDisks,
          removalCauseOf(step, vms, context),
          minVersions,
        ]),
      );
    case 'halt':
      return runInParts(step.vms, leaving, context, failure, (vms) =>
        haltVms.executeWithOptions(options, [key, vms, removalCauseOf(step, vms, context), minVersions]),
      );
    case 'release': {
      const { because } = step;
      const act = { action: because === 'Named' ? 'detach' : step.kind };
      return runInParts(step.vms, { ...leaving, act }, context, failure, (vms) =>
        releaseVms.executeWithOptions(options, because === undefined ? [key, vms] : [key, vms, because]),
      );
    }
    case 'addFinalizer':
    case 'removeFinalizer':
    case 'recordUid':
      if (context.inProgress.has('finalizer')) return;
      runOperation({ kind: 'finalizer', names: [], reason }, context, failure, () =>
        step.kind === 'recordUid'
          ? recordUid.executeWithOptions(options, [key])
          : setFinalizer.executeWithOptions(options, [key, step.kind === 'addFinalizer']),
      );
  }
}

interface OperationInput {
  kind: OperationKind;
  names: string[];
  reason: string;
  /**
   * Called with what the operation has done; null if that is unknown. Not called if the owner has been replaced by
   * then.
   */
  onDone?: (done: Done | null) => void;
  /** What `drover history` calls it; absent if it is not to be shown. */
  act?: Pick<BegunAct, 'action' | 'to'>;
}

/** Runs an activity on VMs, and notes its failure; the context hears of its end. */
export function runOperation(
  { onDone, act: recorded, ...operation }: OperationInput,
  { inProgress, failureBackoff, journal, onEnd }: OperationContext,
  failure: FailureReason,
  act: () => Promise<Done>,
): void {
  let minVersions: ResourceVersions | null = null;
  const { names, reason } = operation;
  const ended = recorded === undefined ? () => {} : journal.begin({ ...recorded, vms: names, reason });
  // A step does not count as failed if the owner has been replaced by then.
  const { state } = failureBackoff;
  const isOfOwner = (): boolean => failureBackoff.state === state;
  const run = inProgress.run(operation, async () => {
    try {
      const done = await act();
      minVersions = done.minVersions;
      for (const [vms, how] of endsOf(done, names)) ended(how, vms);
      if (!isOfOwner()) return;
      onDone?.(done);
      if (done.refused !== null) failureBackoff.failed(failure, done.refused.message, done.refused, done.count);
      else if (done.count > 0) failureBackoff.succeeded(failure);
      // A plan on what is known already would have the same done again, without end.
      else if (isNoNews(done)) failureBackoff.failed(failure, `nothing came of it: ${operation.reason}`);
    } catch (error) {
      if (isOfOwner()) onDone?.(null);
      if (isNotBegun(error)) {
        ended({ end: 'TimedOut', message: 'no worker began it in time' });
        log.info('a step is planned again, since no worker has begun it', { reason: operation.reason });
        return;
      }
      const message = messageOf(error);
      ended({ end: 'Failed', message });
      log.error('a step failed', { reason: operation.reason, message });
      if (isOfOwner()) failureBackoff.failed(failure, message);
    }
  });
  void run.then(() => onEnd(minVersions));
}

/** Runs an activity on VMs, as many at a time as it takes, with names in the operation. */
export function runInParts<T extends { name: string }>(
  vms: readonly T[],
  operation: Omit<OperationInput, 'names'>,
  context: OperationContext,
  failure: FailureReason,
  act: (part: T[]) => Promise<Done>,
): void {
  for (const part of chunks(vms))
    runOperation({ ...operation, names: part.map(({ name }) => name) }, context, failure, () => act(part));
}

/** How an operation ended: differently for VMs that it left alone. */
function endsOf({ count, nameConflicts, notWanted, refused }: Done, names: readonly string[]): [string[], ActEnd][] {
  const others = names.filter((name) => !nameConflicts.includes(name) && !notWanted.includes(name));
  return [
    [
      others,
      refused === null
        ? { end: 'Done' }
        : { end: 'Refused', message: `${count} of ${names.length} done: ${refused.message}` },
    ],
    [nameConflicts, { end: 'Taken', message: ACT_ENDS.Taken.what }],
    [notWanted, { end: 'NotWanted', message: ACT_ENDS.NotWanted.what }],
  ];
}

/** Whether no worker has started an activity in time. It is unknown whether an earlier attempt has done something. */
const isNotBegun = (error: unknown): boolean =>
  error instanceof ActivityFailure &&
  error.cause instanceof TimeoutFailure &&
  error.cause.timeoutType === 'SCHEDULE_TO_START';

const messageOf = (error: unknown): string =>
  (error instanceof ActivityFailure ? (error.cause ?? error) : (error as Error)).message;

const isNothing = (versions: ResourceVersions): boolean =>
  Object.values(versions).every((version) => version === undefined);

/** Whether an operation has neither done anything nor seen why, so that a later plan would not differ. */
const isNoNews = ({ count, notWanted, nameConflicts, minVersions }: Done): boolean =>
  count + notWanted.length + nameConflicts.length === 0 && isNothing(minVersions);

/**
 * Runs housekeeping that may fail, since it can be done later. If another of its kind is running, the step is planned
 * again when that has ended. The versions that `act` returns, a later plan must have seen.
 */
export function tidy(
  { inProgress, failureBackoff, journal, onEnd }: OperationContext,
  kind: HousekeepingKind,
  reason: string,
  act: () => Promise<ResourceVersions | Acted | void>,
): void {
  if (inProgress.has(kind)) return inProgress.defer(kind);
  const failure = HOUSEKEEPING[kind];
  const wasFailing = failureBackoff.isFailing(failure);
  const onEndOfIt = (newer: ResourceVersions | null): void => {
    const wasDeferred = inProgress.wasDeferred(kind);
    // What is refused is planned again after its delay, and what has passed is no longer reported.
    const isNews = wasDeferred || wasFailing || failureBackoff.isFailing(failure) || !isNothing(newer ?? {});
    // What it has left undone is seen in the cache, if not at once.
    if (isNews) onEnd(newer ?? {});
  };
  runOperation({ kind, names: [], reason }, { inProgress, failureBackoff, journal, onEnd: onEndOfIt }, failure, () =>
    act().then(doneBy, (error: Error) => {
      if (isNotBegun(error)) throw error;
      const message = `${reason}: ${messageOf(error)}`;
      const refused = refusedIn(error);
      if (refused === null) throw new Error(message);
      return { ...doneBy('skipped'), refused: { ...refused, message } };
    }),
  );
}

/** What an activity says that was refused on each of its VMs; null if it has failed otherwise. */
function refusedIn(error: Error): Refused | null {
  const cause = error instanceof ActivityFailure ? error.cause : undefined;
  const type: RefusedType = 'Refused';
  return cause instanceof ApplicationFailure && cause.type === type ? ((cause.details?.[0] as Refused) ?? null) : null;
}

/** What housekeeping has done that tells it so. */
const doneBy = (result: ResourceVersions | Acted | void): Done => ({
  count: result === 'skipped' ? 0 : 1,
  nameConflicts: [],
  notWanted: [],
  refused: null,
  minVersions: typeof result === 'object' ? result : {},
});

function removalCauseOf(
  { because }: { because: RemovalCause['because'] },
  vms: readonly Target[],
  { generation, leaving }: OwnerStepContext,
): RemovalCause {
  if (because !== 'Surplus' && because !== 'SurplusHalted' && because !== 'StandbySurplus') return { because };
  const own = new Set(vms.map((vm) => vm.name));
  return { because, generation, others: leaving.filter((name) => !own.has(name)) };
}

/** Splits what is to be done into the parts that activities take. */
export function chunks<T>(items: readonly T[]): T[][] {
  const { first, second, longest } = CHUNK_SIZES;
  if (items.length <= longest) return [[...items]];
  return [items.slice(0, first), items.slice(first, first + second), ...chunks(items.slice(first + second))];
}
