import type { Condition } from '../pool/status.ts';

/** Conditions in the status of schedules, and their reasons, as `OPERATION_REASONS` are those of operations. */
export const SCHEDULE_REASONS = {
  Ready: {
    Scheduled: 'the next operation is made at its time',
    Suspended: '`spec.suspend` is true',
    InvalidSchedule: 'the cron or the time zone is not understood',
    OperationRefused: 'the API server refuses the operation',
  },
  Succeeded: {
    Complete: 'the last operation is done',
    Running: 'the last operation is in progress',
    OperationFailed: 'the last operation has ended otherwise',
    Missed: 'none was made for the last time',
  },
} as const satisfies Record<string, Record<string, string>>;

export type ScheduleCondition = Omit<Condition, 'lastTransitionTime' | 'type' | 'reason'> &
  (
    | { type: 'Ready' | 'Stalled'; reason: keyof typeof SCHEDULE_REASONS.Ready }
    | { type: 'Succeeded'; reason: keyof typeof SCHEDULE_REASONS.Succeeded }
  );
