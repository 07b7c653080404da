import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkflowHandle } from '@temporalio/client';
import type { RunProgress } from '../../decisions/runs/progress.ts';
import type { DataFormat } from '../cli/data.ts';
import { sentenceOf } from '../cli/failure.ts';
import { Board, printViews, type Shown } from '../cli/live.ts';
import { note, print } from '../cli/output.ts';
import type { Session } from '../session/session.ts';
import { isWorkflowNotFound } from '../session/temporal.ts';
import type { RunKind } from './kind.ts';
import { recentErrorsOf } from './recent-errors.ts';
import { exclusions, runLines, shortfalls } from './report.ts';
import { askProgress, readRun, resultOf, type RunStatus } from './status.ts';

const ASK_MS = 1_000;

const shownAs = <P extends RunProgress, Listed extends object>(
  { outlineOf }: RunKind<P, Listed>,
  { workflowId: id }: WorkflowHandle,
): Shown<RunStatus<P>> => ({ blockOf: (status) => runLines(id, status, outlineOf(status)) });

/** Prints the state of a run. */
export const printRun = async <P extends RunProgress, Listed extends object>(
  session: Session,
  kind: RunKind<P, Listed>,
  handle: WorkflowHandle,
  output?: DataFormat,
): Promise<void> => printViews([await readRun(session, kind, handle)], { ...shownAs(kind, handle), output });

interface FollowOptions<P> {
  /** Reports whether watching may end although the workflow goes on. */
  until?: (progress: P) => boolean;
  /** What else there is to say at the end. */
  remarks?: (progress: P) => string[];
}

/**
 * Shows a run until it is over, or `until` holds, and how it ended. Throws what was asked for and not done. Ctrl-C
 * leaves the workflow running.
 */
export async function followRun<P extends RunProgress, Listed extends object>(
  session: Session,
  kind: RunKind<P, Listed>,
  handle: WorkflowHandle,
  { until = () => false, remarks = () => [] }: FollowOptions<P> = {},
): Promise<void> {
  const { workflowId: id } = handle;
  process.prependOnceListener('SIGINT', () => note(`\n${id} goes on: ${commandsOf(kind, id)}`));
  const end = await watch(session, kind, handle, until);
  const outline = kind.outlineOf(end);
  print(outline.end);
  for (const line of [...exclusions(end), ...remarks(end)]) note(line);
  const missing = shortfalls(end, outline);
  if (missing.length > 0) throw new AggregateError(missing);
}

/** Names commands that show and end a run, for a person who stops watching. */
export const commandsOf = ({ command }: { command: string }, id: string): string =>
  `\`${command} status ${id} --watch\` shows it, \`${command} abort ${id}\` ends it`;

async function watch<P extends RunProgress, Listed extends object>(
  session: Session,
  kind: RunKind<P, Listed>,
  handle: WorkflowHandle,
  until: (progress: P) => boolean,
): Promise<P> {
  await using board = new Board('run', shownAs(kind, handle));
  const over = new AbortController();
  const seen = new AbortController();
  const show = (progress: P, recentErrors: string[] = []): void =>
    board.show([{ ...progress, ended: null, recentErrors }]);
  try {
    const result = resultOf<P>(session, handle, seen.signal).finally(() => over.abort());
    // Avoids an unhandled rejection: `result` is awaited below only if `until` does not hold first.
    result.catch(() => undefined);
    let problem = '';
    while (!over.signal.aborted) {
      try {
        const [progress, errors] = await Promise.all([
          askProgress(session, handle, kind.query),
          recentErrorsOf(session, handle),
        ]);
        show(progress, errors);
        if (until(progress)) return progress;
      } catch (error) {
        const said = sentenceOf(error);
        // `result` reports a missing workflow already.
        const isReported = isWorkflowNotFound((error as Error).cause);
        if (said !== problem && !isReported && !over.signal.aborted) note(said);
        problem = said;
      }
      await sleep(ASK_MS, undefined, { signal: over.signal }).catch(() => undefined);
    }
    const end = await result;
    show(end);
    return end;
  } finally {
    seen.abort();
  }
}
