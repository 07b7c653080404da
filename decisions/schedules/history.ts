import { DEFAULT_HISTORY } from '../../api/schedules/defaults-and-limits.ts';
import type { StoredOperation } from '../views/stored-operation.ts';
import type { StoredSchedule } from '../views/stored-schedule.ts';
import { timeOf } from './names.ts';

/** Reports whether all that the operation asks for is done. */
export const hasSucceeded = ({ status }: StoredOperation): boolean =>
  status?.conditions?.some(({ type, status: is }) => type === 'Complete' && is === 'True') ?? false;

/**
 * Returns the operations that have ended and are more than the schedule keeps, the oldest first. One for a time that is
 * yet to come, which was made while a clock was wrong, stays: it tells that its time was done.
 */
export function surplusHistory(
  schedule: StoredSchedule,
  operations: readonly StoredOperation[],
  now: number,
): StoredOperation[] {
  const { spec } = schedule;
  const { successfulOperationsHistoryLimit: successful = DEFAULT_HISTORY.successful } = spec;
  const { failedOperationsHistoryLimit: failed = DEFAULT_HISTORY.failed } = spec;
  const ended = operations
    .filter((one) => one.status?.completionTime !== undefined && timeOf(schedule, one) <= now)
    .toSorted((a, b) => timeOf(schedule, a) - timeOf(schedule, b));
  const beyond = (hasEndedWell: boolean, most: number): StoredOperation[] => {
    const alike = ended.filter((one) => hasSucceeded(one) === hasEndedWell);
    return alike.slice(0, Math.max(0, alike.length - most));
  };
  return [...beyond(true, successful), ...beyond(false, failed)];
}
