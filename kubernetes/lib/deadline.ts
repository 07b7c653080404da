const READ_MS = 30_000;
/**
 * The API server itself ends a write after 34 seconds, of which admission webhooks may take 30, and then continues
 * without those whose failure it is to ignore. A client that gives up earlier has the write undone, however often it
 * tries again (kubernetes/kubernetes#71508).
 */
const WRITE_MS = 35_000;

/** Returns how long the server may take to begin its answer, and between parts of it, in milliseconds. */
export const deadlineOf = ({ method, deadlineMs }: { method: string; deadlineMs?: number }): number =>
  deadlineMs ?? (method === 'GET' ? READ_MS : WRITE_MS);
