import type { WorkflowHandle } from '@temporalio/client';
import { restartProgress, type RestartProgress } from '../../workflows/messages.ts';
import { note, print } from '../cli/output.ts';
import { followRun, type Followed } from '../runs/follow.ts';
import { askProgress } from '../runs/progress.ts';
import type { Session } from '../session/session.ts';
import { formatEnd, progressLines, shortfalls, exclusions } from './progress.ts';

const restart: Followed<RestartProgress> = {
  query: restartProgress,
  lines: progressLines,
  commands: (id) => `\`drover vm restarts status ${id} --watch\` shows it, \`drover vm restarts abort ${id}\` ends it`,
};

/** Reads the progress of a restart. Throws `Failure` if no worker answers. */
export const readRestart = (session: Session, handle: WorkflowHandle): Promise<RestartProgress> =>
  askProgress(session, handle, restartProgress);

/** Shows a restart until it is over, and how it ended. Throws what was asked for and not done. */
export async function followRestart(session: Session, handle: WorkflowHandle): Promise<void> {
  const end = await followRun(session, handle, restart);
  print(formatEnd(end));
  for (const line of exclusions(end)) note(line);
  const missing = shortfalls(handle.workflowId, end);
  if (missing.length > 0) throw new AggregateError(missing);
}
