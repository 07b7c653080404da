import { conditionOf } from '../../api/objects.ts';
import type { ReplicaSetStatus } from '../../api/replica-set/replica-set.ts';
import type { OwnerEvent } from '../owners/events.ts';

type Status = Pick<ReplicaSetStatus, 'conditions'> | undefined;

/** Returns the Events about what a new status says, and the one before did not. */
export function statusEvents(before: Status, after: Status): OwnerEvent[] {
  const [was, is] = [conditionOf(before, 'Paused'), conditionOf(after, 'Paused')];
  const [failedAs, failsAs] = [conditionOf(before, 'ReplicaFailure'), conditionOf(after, 'ReplicaFailure')];
  const events: OwnerEvent[] = [];
  if (is?.status === 'True' && was?.status !== 'True')
    events.push({ type: 'Normal', reason: 'SuccessfulPaused', action: 'Pause', note: `Paused: ${is.message ?? ''}` });
  if (is?.status === 'False' && was?.status === 'True')
    events.push({ type: 'Normal', reason: 'SuccessfulResumed', action: 'Resume', note: 'Resumed' });
  // Refusals are told by the activities that meet them; a start fails without any.
  if (failsAs?.reason === 'FailedStart' && failedAs?.reason !== 'FailedStart')
    events.push({ type: 'Warning', reason: 'FailedStart', action: 'Start', note: failsAs.message ?? '' });
  return events;
}
