import type { Condition } from '../../api/pool/pool.ts';
import type { UntimedCondition } from '../owners/conditions.ts';
import type { StoredPool } from '../views/pool.ts';
import { restartsOnChange, type Contents } from './older-content.ts';

/**
 * Returns the condition `ConfigurationNotWatched` if the worker lacks the permissions to watch Secrets or ConfigMaps;
 * empty otherwise.
 */
export function configurationCondition(pool: StoredPool, contents: Contents | null): UntimedCondition[] {
  if (!restartsOnChange(pool)) return [];
  // Not known yet: what was said holds.
  if (contents === null) return (pool.status?.conditions ?? []).filter(isOfThis);
  if (!('forbidden' in contents)) return [];
  const message =
    `rollout.onConfigChange restarts nothing: the worker may not list and watch ${contents.forbidden} in namespace ` +
    `${pool.metadata.namespace}, which the component deploy/components/references permits`;
  return [{ type: 'ConfigurationNotWatched', status: 'True', reason: 'Forbidden', message }];
}

const isOfThis = (condition: Condition): condition is Condition & UntimedCondition<'ConfigurationNotWatched'> =>
  condition.type === 'ConfigurationNotWatched';
