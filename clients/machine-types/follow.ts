import { ApplicationFailure, type WorkflowHandle } from '@temporalio/client';
import { MACHINE_TYPE_RESTART_LABEL } from '../../api/names.ts';
import type { TransitionProgress } from '../../decisions/machine-types/transition.ts';
import { transitionProgress } from '../../workflows/messages.ts';
import { Failure } from '../cli/failure.ts';
import { note, plain, print } from '../cli/output.ts';
import { followRun, resultOf, type Followed } from '../runs/follow.ts';
import { askProgress, endedFromOutside } from '../runs/progress.ts';
import { recentErrorLines, recentErrorsOf } from '../runs/recent-errors.ts';
import type { Session } from '../session/session.ts';
import { isWorkflowNotFound } from '../session/temporal.ts';
import { formatEnd, shortfalls, transitionLines, exclusions } from './progress.ts';
import { shortIdOf } from './transitions.ts';

const commands = (id: string): string =>
  `\`drover machine-types status ${id} --watch\` shows it, \`drover machine-types abort ${id}\` ends it`;

/** The preflight's message, if that is why the workflow failed. */
const refusalOf = (cause: unknown): Failure | undefined =>
  cause instanceof ApplicationFailure && cause.type === 'Refused'
    ? new Failure(`refused: ${cause.message}`, { cause })
    : undefined;

const transition: Followed<TransitionProgress> = {
  query: transitionProgress,
  lines: transitionLines,
  commands,
  failureOf: refusalOf,
};

/** State of a transition. */
export interface TransitionStatus {
  progress: TransitionProgress;
  /** Why it ended without a result: refused, or ended from outside. Null if neither. */
  ended: string | null;
  /** What it keeps retrying without success, a sentence each. */
  recentErrors: string[];
}

/**
 * Returns how a transition stands or ended; a completed one needs no worker to answer. Throws `Failure` if no worker
 * answers.
 */
export async function readTransition(session: Session, handle: WorkflowHandle): Promise<TransitionStatus> {
  const { status } = await handle.describe().catch((error: unknown) => {
    throw isWorkflowNotFound(error) ? new Failure(`there is no ${handle.workflowId}`, { cause: error }) : error;
  });
  if (status.name === 'COMPLETED') return { progress: await endOf(session, handle), ended: null, recentErrors: [] };
  if (status.name === 'RUNNING') {
    const [progress, recentErrors] = await Promise.all([
      askProgress(session, handle, transitionProgress),
      recentErrorsOf(session, handle),
    ]);
    return { progress, ended: null, recentErrors };
  }
  const outside = endedFromOutside(status.name);
  if (outside !== null) {
    const ended = `${outside}, and what it has marked stays marked`;
    return { progress: await askProgress(session, handle, transitionProgress), ended, recentErrors: [] };
  }
  const refusal = await endOf(session, handle).then(
    () => new Failure(`${handle.workflowId} has failed`),
    (error: Error) => error,
  );
  // Without a worker, at least report why it failed.
  const progress = await askProgress(session, handle, transitionProgress).catch(() => Promise.reject(refusal));
  return { progress, ended: refusal.message, recentErrors: [] };
}

const endOf = (session: Session, handle: WorkflowHandle): Promise<TransitionProgress> =>
  resultOf<TransitionProgress>(session, handle, { followed: transition, signal: new AbortController().signal });

/**
 * Shows a transition until it is over; with `untilChanged`, until it waits only for the owners of its VMs. Throws what
 * was asked for and not done.
 */
export async function followTransition(
  session: Session,
  handle: WorkflowHandle,
  { untilChanged }: { untilChanged: boolean },
): Promise<void> {
  const { workflowId: id } = handle;
  const until = untilChanged ? { until: ({ phase }: TransitionProgress): boolean => phase === 'Waiting' } : {};
  const end = await followRun(session, handle, { ...transition, ...until });
  print(formatEnd(end));
  for (const line of exclusions(end)) note(line);
  if (end.phase === 'Waiting') note(stillWaits(id, end));
  const missing = shortfalls(id, end);
  if (missing.length > 0) throw new AggregateError(missing);
}

function stillWaits(id: string, { counts }: TransitionProgress): string {
  const label = `${MACHINE_TYPE_RESTART_LABEL}=${shortIdOf(id)}`;
  const which =
    counts.waiting === 0
      ? ''
      : `\`drover vm pending -A -l ${label}\` lists the VMs that wait for a restart (not a reboot inside the guest), `;
  return `${id} goes on until they are done: ${which}${commands(id)}`;
}

/** Prints the state of a transition for people. */
export function printStatus(id: string, { progress, ended, recentErrors }: TransitionStatus): void {
  print(
    [
      ...transitionLines(id, progress),
      ...(ended === null ? [] : [plain(`  ${ended}`)]),
      ...recentErrorLines(recentErrors),
    ].join('\n'),
  );
}
