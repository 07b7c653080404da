import { cancellationSignal } from '@temporalio/activity';
import { actionReport } from '../../decisions/operations/action-report.ts';
import type { OperationRef } from '../../decisions/operations/ref.ts';
import { BY_SPEC, type ObservedRun } from '../../decisions/operations/status.ts';
import { steeringOf } from '../../decisions/operations/steer.ts';
import { Changes } from '../cache/changes.ts';
import type { OperationActivityOptions } from './begin-operation.ts';
import { isChangeByPeople, knownOperation } from './live-operation.ts';
import type { RunState } from './run-control.ts';
import { writeOperationStatus } from './write-status.ts';

/** The least time between two writes of the status. */
const GAP_MS = 1_000;
/** How often a run is asked at first, and later: a run with thousands of VMs reports much, or nothing new for weeks. */
const QUERY_MS = { first: 200, later: 1_000, most: 30_000 };
/** A run that has told nothing new for so many times as long is asked then. */
const QUIET_SHARE = 20;
/** How long asking may take of the time. */
const QUERY_SHARE = 20;
const FIRST_MS = 5_000;

/**
 * Has the run of an operation do as the object says, and tells in the object how the run stands, until that is over.
 * Only looks and tells: any attempt, on any worker, continues where the last one was.
 */
export async function follow(
  { client, cache, runs, stopping }: OperationActivityOptions,
  ref: OperationRef,
): Promise<void> {
  const signal = cancellationSignal();
  const began = Date.now();
  const changes = new Changes(
    cache,
    stopping,
    (change) => change.kind === 'operation' && isChangeByPeople(change, ref),
  );
  const stop = new AbortController();
  let [writtenAt, newsAt] = [0, began];
  try {
    for (let isFirst = true; ; isFirst = false) {
      const queriedAt = Date.now();
      const run = await runs.state(ref);
      if (run.is === 'missing') return;
      if (isFirst) void runs.over(ref, AbortSignal.any([stop.signal, signal])).then(() => changes.poke());
      const operation = await knownOperation(client, cache, ref);
      if (run.is === 'running' && run.progress !== null) {
        const steering = steeringOf(operation, run.progress);
        if (steering !== null) await runs.signal(ref, { ...steering, by: BY_SPEC });
      }
      const observed = observedOf(run, runs.workflowId(ref));
      const isDue = observed !== null && (observed.end !== null || Date.now() >= writtenAt + GAP_MS);
      if (operation !== undefined && isDue) {
        const written = await writeOperationStatus(client, ref, operation, observed);
        writtenAt = Date.now();
        if (written?.metadata.resourceVersion !== operation.metadata.resourceVersion) newsAt = writtenAt;
      }
      if (run.is !== 'running') return;
      const quiet = Math.min(Math.max((Date.now() - newsAt) / QUIET_SHARE, QUERY_MS.later), QUERY_MS.most);
      const every = Date.now() - began < FIRST_MS ? QUERY_MS.first : quiet;
      await changes.next(Math.max(every, (Date.now() - queriedAt) * QUERY_SHARE));
    }
  } finally {
    changes.stop();
    stop.abort();
  }
}

/** Null if the state of the run is unknown. */
function observedOf(run: Exclude<RunState, { is: 'missing' }>, workflowId: string): ObservedRun | null {
  const { progress } = run;
  if (run.is === 'ended') return { progress, end: { reason: run.reason, message: run.message }, workflowId };
  if (run.is === 'completed') return { progress: run.progress, end: actionReport(run.progress).end, workflowId };
  return progress === null ? null : { progress, troubles: run.troubles, end: null, workflowId };
}
