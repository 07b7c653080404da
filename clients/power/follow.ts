import type { WorkflowHandle } from '@temporalio/client';
import { powerProgress, type PowerProgress } from '../../workflows/messages.ts';
import { note, print } from '../cli/output.ts';
import { followRun, type Followed } from '../runs/follow.ts';
import { askProgress, endedFromOutside } from '../runs/progress.ts';
import type { Session } from '../session/session.ts';
import { formatEnd, progressLines, shortfalls, exclusions } from './progress.ts';

const power: Followed<PowerProgress> = {
  query: powerProgress,
  lines: progressLines,
  commands: (id) => `\`drover vm runs status ${id} --watch\` shows it, \`drover vm runs abort ${id}\` ends it`,
};

/** Progress of a run. */
export interface PowerStatus {
  progress: PowerProgress;
  /** How it ended without a result; null if it did not. */
  ended: string | null;
}

/** Reads the progress of a run. Throws `Failure` if no worker answers. */
export async function readPower(session: Session, handle: WorkflowHandle): Promise<PowerStatus> {
  const progress = await askProgress(session, handle, powerProgress);
  const { status } = await session.untilAnswered(handle.describe());
  const outside = endedFromOutside(status.name);
  const isMidway = outside !== null && progress.inProgress.length > 0;
  return { progress, ended: isMidway ? `${outside}, and nobody follows what it has begun with` : outside };
}

/** Shows a run until it is over, and how it ended. Throws what was asked for and not done. */
export async function followPower(session: Session, handle: WorkflowHandle): Promise<void> {
  const end = await followRun(session, handle, power);
  print(formatEnd(end));
  for (const line of exclusions(end)) note(line);
  const missing = shortfalls(handle.workflowId, end);
  if (missing.length > 0) throw new AggregateError(missing);
}
