import type { WorkflowHandle } from '@temporalio/client';
import { paint, plain } from '../cli/output.ts';
import type { Session } from '../session/session.ts';

/** One try more may be a worker that has died, or a server that was away for a moment: nobody need know. */
const TRIES_UNTOLD = 2;

/** What activities do, for those who have not read them; others are told by their names. */
const WORDS: Record<string, string> = {
  preflightTransition: 'the check before the first change',
  checkMachineTypes: 'a dry run',
  patchMachineTypes: 'the change of machine types',
  changePools: 'the change of pools',
  clearMarks: 'the removal of labels',
  beginTransitionRestarts: 'the restart of VMs',
  beginRestarts: 'the restart of VMs',
  awaitTransition: 'a look at the VMs',
  awaitRestarts: 'a look at the VMs',
};

/**
 * What a workflow tries again and again, and why that fails, a sentence each: whatever else it has to do waits for
 * that. It knows no more of it than that it waits. None where Temporal doesn't tell.
 */
export async function troublesOf(session: Session, handle: WorkflowHandle): Promise<string[]> {
  const described = await session.untilAnswered(handle.describe()).catch(() => null);
  return (described?.raw.pendingActivities ?? []).flatMap(({ activityType, attempt, lastFailure }) => {
    if (!lastFailure || (attempt ?? 1) <= TRIES_UNTOLD + 1) return [];
    const name = activityType?.name ?? '';
    const why = lastFailure.cause?.message || lastFailure.message || 'it does not say why';
    return [plain(`${WORDS[name] ?? name} has failed ${(attempt ?? 1) - 1} times, and is tried again: ${why}`)];
  });
}

export const troubleLines = (troubles: string[]): string[] => troubles.map((trouble) => paint('red', `  ${trouble}`));
