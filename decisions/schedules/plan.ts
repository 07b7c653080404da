import type { ScheduleStatus } from '../../api/schedules/schedule.ts';
import { earlier } from '../lib/earlier-and-later.ts';
import type { StoredOperation } from '../views/stored-operation.ts';
import { surplusHistory } from './history.ts';
import { scheduleStatus } from './status.ts';
import { deadlineMs, faultOf, timesOf, type TimesInput } from './times.ts';

interface ScheduleInput extends TimesInput {
  /** Why the API server has just refused the operation; null if it has not. */
  refusal: string | null;
}

export interface SchedulePlan {
  /** The time for which an operation is to be made now; null if none is. */
  run: number | null;
  /** To be aborted, so that the next may begin. */
  abort: StoredOperation[];
  /** To be deleted once the status has been written: more are not kept. */
  surplus: StoredOperation[];
  status: ScheduleStatus;
  /** When to look again if nothing happens; null if there is nothing to wait for. */
  lookAt: number | null;
  /** The last time for which an operation was made, for the workflow to remember. */
  last: number | null;
}

export function planSchedule(input: ScheduleInput): SchedulePlan {
  const { schedule, operations, now, refusal } = input;
  const { concurrencyPolicy: policy = 'Forbid' } = schedule.spec;
  const fault = faultOf(schedule);
  const times = timesOf(input, fault === null);
  const active = operations.filter(({ status }) => status?.completionTime === undefined);
  const isFree = active.length === 0 || policy === 'Allow';
  const expiry = times.due === null ? null : times.due + deadlineMs(schedule);
  return {
    run: isFree && refusal === null ? times.due : null,
    abort: times.due !== null && policy === 'Replace' ? active.filter(({ spec }) => spec.aborted !== true) : [],
    surplus: surplusHistory(schedule, operations, now),
    status: scheduleStatus({ schedule, operations, active, times, fault, refusal, now }),
    lookAt: earlier(times.next, expiry),
    last: times.last ?? input.ranUntil,
  };
}
