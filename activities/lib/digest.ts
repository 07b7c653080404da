import { createHash } from 'node:crypto';

/**
 * A short stand-in for what a look reported, for comparison: the workflow keeps it, and the value itself may be long.
 */
export const digestOf = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 16);
