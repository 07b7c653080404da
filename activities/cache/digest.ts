import { createHash } from 'node:crypto';

/** Stands for what a look has told, to be compared with: a workflow keeps it, and that itself may be long. */
export const digestOf = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 16);
