import type { WorkflowHandle } from '@temporalio/client';
import { plain } from '../cli/output.ts';
import type { Session } from '../session/session.ts';

/** The first failures aren't reported: they may be a worker that died, or a server that was briefly unavailable. */
const SILENT_TRIES = 2;

/** Activities in words for people who haven't read the code; other activities keep their names. */
const WORDS: Record<string, string> = {
  preflightTransition: 'the check before the first change',
  checkMachineTypes: 'a dry run',
  patchMachineTypes: 'the change of machine types',
  patchPoolTemplates: 'the change of pools',
  clearMarks: 'the removal of labels',
  changePower: 'the start, stop or restart of VMs',
  followTransition: 'the restart of VMs, or a look at them',
};

/**
 * Returns the activities that keep failing and why, a sentence each; empty if Temporal doesn't answer. The workflow
 * can't report them itself: it only knows that it waits, and the rest of its work waits, too.
 */
export async function recentErrorsOf(session: Session, handle: WorkflowHandle): Promise<string[]> {
  const described = await session.untilAnswered(handle.describe()).catch(() => null);
  return (described?.raw.pendingActivities ?? []).flatMap(({ activityType, attempt, lastFailure }) => {
    if (!lastFailure || (attempt ?? 1) <= SILENT_TRIES + 1) return [];
    const name = activityType?.name ?? '';
    const why = lastFailure.cause?.message || lastFailure.message || 'it does not say why';
    return [plain(`${WORDS[name] ?? name} has failed ${(attempt ?? 1) - 1} times, and is tried again: ${why}`)];
  });
}
