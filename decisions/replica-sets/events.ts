import { conditionOf } from '../../api/objects.ts';
import type { ReplicaSetStatus } from '../../api/replica-set/replica-set.ts';
import { noticeEvents, setNotices } from '../notices/notices.ts';
import type { OwnerEvent } from '../owners/events.ts';
import type { StoredSet } from '../views/owner.ts';

/** Returns the Events about what a new status of the set says, and the one before did not. */
export function statusEvents(set: StoredSet, status: ReplicaSetStatus, now: number): OwnerEvent[] {
  const [was, is] = [conditionOf(set.status, 'Paused'), conditionOf(status, 'Paused')];
  const events = noticeEvents(setNotices(set), setNotices({ ...set, status }), now);
  if (is?.status === 'True' && was?.status !== 'True')
    events.push({ type: 'Normal', reason: 'SuccessfulPaused', action: 'Pause', note: `Paused: ${is.message ?? ''}` });
  if (is?.status === 'False' && was?.status === 'True')
    events.push({ type: 'Normal', reason: 'SuccessfulResumed', action: 'Resume', note: 'Resumed' });
  return events;
}
