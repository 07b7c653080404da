/**
 * How late an operation may be made, if the schedule does not say, in seconds. An operation of hours ago would stop VMs
 * in the middle of the working day.
 */
export const DEFAULT_STARTING_DEADLINE_SECONDS = 3_600;
/** How many of its operations that have ended well, or not so, are kept, if the schedule does not say; as CronJobs. */
export const DEFAULT_HISTORY = { successful: 3, failed: 1 } as const;
/** Most operations that the status of a schedule names. */
export const MAX_ACTIVE_LISTED = 10;
