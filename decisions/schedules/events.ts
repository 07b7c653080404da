import { conditionOf } from '../../api/objects.ts';
import type { ScheduleStatus } from '../../api/schedules/schedule.ts';
import type { OwnerEvent } from '../owners/events.ts';

/** Returns the Events about what the new status of a schedule says was not made, and the stored one does not. */
export function scheduleEvents(stored: ScheduleStatus | undefined, now: ScheduleStatus): OwnerEvent[] {
  const events: OwnerEvent[] = [];
  const warn = (reason: OwnerEvent['reason'], note: string): void =>
    void events.push({ type: 'Warning', reason, action: 'Schedule', note });
  const { lastMissed } = now;
  if (lastMissed !== undefined && lastMissed.time !== stored?.lastMissed?.time)
    warn('Missed', `${lastMissed.time}: ${lastMissed.message}`);
  const [before, stalled] = [conditionOf(stored, 'Stalled'), conditionOf(now, 'Stalled')];
  if (stalled?.status === 'True' && stalled.reason !== before?.reason)
    warn(stalled.reason === 'InvalidSchedule' ? 'InvalidSchedule' : 'OperationRefused', stalled.message ?? '');
  return events;
}
