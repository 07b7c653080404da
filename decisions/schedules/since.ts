import type { StoredSchedule } from '../views/stored-schedule.ts';

/** What the API server records about the writers of an object. */
interface ManagedFields {
  time?: string;
  subresource?: string;
}

/**
 * Returns since when the schedule counts as it is now, in milliseconds since the epoch: since it was made, changed or
 * resumed. Earlier times are not caught up: a cron that is changed, or a schedule that is resumed, would run at once,
 * as CronJobs do to the surprise of many. Remembered in the status: later writes to the object, such as of labels,
 * change nothing.
 */
export function effectiveSince({ metadata, status }: StoredSchedule): number {
  const { generation, creationTimestamp, managedFields = [] } = metadata;
  if (status?.effectiveSince !== undefined && status.observedGeneration === generation)
    return Date.parse(status.effectiveSince);
  const writes = (managedFields as ManagedFields[])
    .filter(({ time, subresource }) => time !== undefined && subresource === undefined)
    .map(({ time }) => Date.parse(time!));
  return Math.max(Date.parse(creationTimestamp), ...writes);
}
