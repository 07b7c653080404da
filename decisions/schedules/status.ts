import { conditionOf } from '../../api/objects.ts';
import { MAX_ACTIVE_LISTED } from '../../api/schedules/defaults-and-limits.ts';
import type { ScheduleCondition } from '../../api/schedules/reasons.ts';
import type { ScheduleStatus } from '../../api/schedules/schedule.ts';
import { withTime } from '../owners/conditions.ts';
import type { StoredOperation } from '../views/stored-operation.ts';
import type { StoredSchedule } from '../views/stored-schedule.ts';
import { hasSucceeded } from './history.ts';
import { timeOf } from './names.ts';
import type { Times } from './times.ts';

const MESSAGE_LENGTH = 1_024;

interface ObservedSchedule {
  schedule: StoredSchedule;
  operations: readonly StoredOperation[];
  active: readonly StoredOperation[];
  times: Times;
  /** Why its times can't be known; null if they can. */
  fault: string | null;
  refusal: string | null;
  now: number;
}

export function scheduleStatus(observed: ObservedSchedule): ScheduleStatus {
  const { schedule, operations, active, times, now } = observed;
  const { generation: observedGeneration = 0 } = schedule.metadata;
  const { since, last, next, due, missed } = times;
  const ends = operations.filter(hasSucceeded).map(({ status }) => Date.parse(status!.completionTime!));
  const before = schedule.status?.lastSuccessfulTime;
  const succeeded = Math.max(...ends, before === undefined ? -Infinity : Date.parse(before));
  const names = active.map(({ metadata }) => metadata.name).toSorted();
  return {
    observedGeneration,
    effectiveSince: text(since),
    ...(last === null ? {} : { lastScheduleTime: text(last) }),
    ...(succeeded === -Infinity ? {} : { lastSuccessfulTime: text(succeeded) }),
    ...(next === null ? {} : { nextScheduleTime: text(next) }),
    ...(due === null ? {} : { dueScheduleTime: text(due) }),
    ...(missed === null ? {} : { lastMissed: { time: text(missed.time), message: cut(missed.message) } }),
    ...(names.length === 0 ? {} : { active: names.slice(0, MAX_ACTIVE_LISTED) }),
    conditions: conditionsOf(observed).map((condition) => ({
      ...withTime(schedule, condition, text(now)),
      observedGeneration,
    })),
  };
}

/** Times of a schedule are whole minutes, those of operations whole seconds: as Kubernetes writes times. */
const text = (time: number): string => new Date(time).toISOString().replace(/\.\d+Z$/, 'Z');
const cut = (message: string): string => message.slice(0, MESSAGE_LENGTH);

function conditionsOf(observed: ObservedSchedule): ScheduleCondition[] {
  const { schedule, fault, refusal } = observed;
  const succeeded = succeededCondition(observed);
  const rest = succeeded === null ? [] : [succeeded];
  const stalls = (reason: 'InvalidSchedule' | 'OperationRefused', message: string): ScheduleCondition[] => [
    { type: 'Ready', status: 'False', reason, message: cut(message) },
    { type: 'Stalled', status: 'True', reason, message: cut(message) },
    ...rest,
  ];
  if (fault !== null) return stalls('InvalidSchedule', fault);
  if (schedule.spec.suspend === true)
    return [{ type: 'Ready', status: 'True', reason: 'Suspended', message: 'spec.suspend is true' }, ...rest];
  if (refusal !== null) return stalls('OperationRefused', refusal);
  return [{ type: 'Ready', status: 'True', reason: 'Scheduled', message: messageOf(observed) }, ...rest];
}

function messageOf({ times: { due, next }, active }: ObservedSchedule): string {
  if (due !== null && active.length > 0)
    return `the operation for ${text(due)} waits for the end of ${active[0]!.metadata.name}`;
  return next === null ? 'no more operations are made' : `the next operation is made at ${text(next)}`;
}

/** What became of the last time; null if there was none. */
function succeededCondition({ schedule, operations, times }: ObservedSchedule): ScheduleCondition | null {
  const { last, missed } = times;
  if (missed !== null && missed.time > (last ?? -Infinity))
    return succeeded('False', 'Missed', `${text(missed.time)}: ${missed.message}`);
  const newest = operations.find((one) => timeOf(schedule, one) === last);
  if (newest === undefined) return earlier(schedule);
  const { name } = newest.metadata;
  if (newest.status?.completionTime === undefined) return succeeded('Unknown', 'Running', `${name} is in progress`);
  if (hasSucceeded(newest)) return succeeded('True', 'Complete', `${name} is done`);
  const { reason = '', message = '' } = conditionOf(newest.status, 'Failed') ?? {};
  return succeeded('False', 'OperationFailed', `${name} has ended as ${reason}: ${message}`);
}

type Succeeded = Extract<ScheduleCondition, { type: 'Succeeded' }>;
const succeeded = (status: Succeeded['status'], reason: Succeeded['reason'], message: string): Succeeded => ({
  type: 'Succeeded',
  status,
  reason,
  message: cut(message),
});

/** What was reported about an operation that has been deleted. */
function earlier({ status }: StoredSchedule): ScheduleCondition | null {
  const before = conditionOf(status, 'Succeeded');
  if (before === undefined) return null;
  const { status: is, reason, message = '' } = before as ScheduleCondition;
  if (reason === 'Running') return succeeded('False', 'OperationFailed', 'it was deleted before its end');
  return succeeded(is, reason as Succeeded['reason'], message);
}
