import { setTimeout as sleep } from 'node:timers/promises';
import { WorkflowFailedError, type WorkflowHandle } from '@temporalio/client';
import { restartProgress, type RestartProgress } from '../../workflows/messages.ts';
import { Failure, sentenceOf } from '../failure.ts';
import { Live } from '../live.ts';
import { missingWorkers } from '../missing-workers.ts';
import { note, print } from '../output.ts';
import type { Session } from '../session.ts';
import { endInWords, progressLines, shortfalls, wishes } from './progress.ts';

const ASK_MS = 1_000;
/** An answer that takes longer is asked for again: a worker that has died takes its queries with it. */
const ANSWER_MS = 5_000;

/** How a restart stands. Throws `Failure` where nobody answers for it. */
export async function readRestart(session: Session, handle: WorkflowHandle): Promise<RestartProgress> {
  const { connection } = await session.temporal();
  const query = (): Promise<RestartProgress> => handle.query(restartProgress);
  try {
    return await session.untilAnswered(connection.withDeadline(Date.now() + ANSWER_MS, query));
  } catch (error) {
    if ((error as Error).name === 'WorkflowNotFoundError') throw new Failure(`there is no ${handle.workflowId}`, { cause: error });
    throw new Failure((await missingWorkers(session)) ?? `${handle.workflowId} does not answer: ${sentenceOf(error)}`, { cause: error });
  }
}

/** Shows a restart until it is over, and how it ended. Throws what was asked for and not done. */
export async function followRestart(session: Session, handle: WorkflowHandle): Promise<void> {
  const { workflowId: id } = handle;
  const commands = `\`drover vm restarts status ${id} --watch\` shows it, \`drover vm restarts abort ${id}\` ends it`;
  process.prependOnceListener('SIGINT', () => note(`\n${id} goes on: ${commands}`));
  const live = new Live();
  const ended = new AbortController();
  let end: RestartProgress;
  try {
    const drawing = draw(session, handle, live, ended.signal);
    end = await resultOf(handle).finally(() => ended.abort());
    await drawing;
    live.draw(progressLines(id, end));
  } finally {
    live.end();
  }
  print(endInWords(end));
  for (const line of wishes(end)) note(line);
  const missing = shortfalls(id, end);
  if (missing.length > 0) throw new AggregateError(missing);
}

async function resultOf(handle: WorkflowHandle): Promise<RestartProgress> {
  try {
    return (await handle.result()) as RestartProgress;
  } catch (error) {
    const { workflowId: id } = handle;
    const wasEnded = error instanceof WorkflowFailedError;
    const how = wasEnded ? `was ended from outside: ${sentenceOf(error.cause ?? error)}` : `goes on, and can't be followed: ${sentenceOf(error)}`;
    throw new Failure(`${id} ${how}`, { cause: error });
  }
}

async function draw(session: Session, handle: WorkflowHandle, live: Live, ended: AbortSignal): Promise<void> {
  let trouble = '';
  while (!ended.aborted) {
    try {
      live.draw(progressLines(handle.workflowId, await readRestart(session, handle)));
    } catch (error) {
      const said = sentenceOf(error);
      if (said !== trouble && !ended.aborted) note(said);
      trouble = said;
    }
    await sleep(ASK_MS, undefined, { signal: ended }).catch(() => undefined);
  }
}
