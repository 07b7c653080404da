/** What the check of a step leaves out. Durations are written as in a pool. */
export const DEFAULT_CHECK = { holdsFor: '5m', every: '1m', deadline: '1h', failureThreshold: 3 } as const;

/** The same of a check by a Job, which itself takes its time and tries again. */
export const DEFAULT_JOB_CHECK = { ...DEFAULT_CHECK, holdsFor: '0s', failureThreshold: 1 } as const;

/** More often, and a check would cost more than what it watches over. */
export const MIN_EVERY_MS = 5_000;
