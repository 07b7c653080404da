import type { WorkflowHandle } from '@temporalio/client';
import { powerProgress, type PowerProgress } from '../../workflows/messages.ts';
import { note, print } from '../cli/output.ts';
import { followRun, type Followed } from '../runs/follow.ts';
import { askProgress } from '../runs/progress.ts';
import type { Session } from '../session/session.ts';
import { formatEnd, progressLines, shortfalls, exclusions } from './progress.ts';

const power: Followed<PowerProgress> = {
  query: powerProgress,
  lines: progressLines,
  commands: (id) => `\`drover vm runs status ${id} --watch\` shows it, \`drover vm runs abort ${id}\` ends it`,
};

/** Reads the progress of a run. Throws `Failure` if no worker answers. */
export const readPower = (session: Session, handle: WorkflowHandle): Promise<PowerProgress> =>
  askProgress(session, handle, powerProgress);

/** Shows a run until it is over, and how it ended. Throws what was asked for and not done. */
export async function followPower(session: Session, handle: WorkflowHandle): Promise<void> {
  const end = await followRun(session, handle, power);
  print(formatEnd(end));
  for (const line of exclusions(end)) note(line);
  const missing = shortfalls(handle.workflowId, end);
  if (missing.length > 0) throw new AggregateError(missing);
}
