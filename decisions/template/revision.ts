import { createHash } from 'node:crypto';
import { canonical } from '../lib/canonical-json.ts';
import type { PoolTemplate } from './template.ts';

/**
 * Names a pool's template by its content: equal templates have the same revision, whatever the order of their keys, and
 * nothing outside the template (replicas, strategy, pause) changes it.
 */
export const revisionOf = (template: PoolTemplate): string => hashOf(template);

/** The name of the ControllerRevision that keeps this revision of a pool. */
export const revisionName = (pool: string, revision: string): string => `${pool}-${revision}`;

/** Equal values have the same hash, whatever the order of their keys. */
export const hashOf = (value: unknown): string =>
  createHash('sha256').update(canonical(value)).digest('hex').slice(0, 10);
