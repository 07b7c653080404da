import { needsWorkflow } from '../../decisions/operations/lifetime.ts';
import { operationKey, operationOfKey } from '../../decisions/operations/ref.ts';
import type { StoredOperation } from '../../decisions/views/stored-operation.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import type { ObjectChange } from '../cache/objects/cache-change.ts';
import type { Signals, WatchedObjects } from './watched.ts';

/** Operations that have not ended, or are to be deleted after that: each has a workflow of its own. */
export const watchedOperations = (
  { operations }: Pick<ClusterCache, 'operations'>,
  signals: Signals,
): WatchedObjects => {
  const isUnsettled = (key: string): boolean => {
    const operation = operations.get(operationOfKey(key));
    return operation !== undefined && needsWorkflow(operation);
  };
  return {
    what: 'operation',
    signals,
    all: () => [...operations.values()].filter(needsWorkflow).map(keyOf),
    exists: isUnsettled,
    affected,
    leastMs: () => 0,
    isUnsettled,
    versions: () => ({}),
  };
};

const keyOf = ({ metadata }: StoredOperation): string => operationKey(metadata);

/** What workflows write themselves, into the status, tells them nothing. */
function affected(change: ObjectChange): string[] {
  if (change.kind !== 'operation') return [];
  const { before, after } = change;
  const isSame = before?.metadata.uid === after?.metadata.uid;
  if (isSame && before?.metadata.generation === after?.metadata.generation) return [];
  return [...new Set([before, after].flatMap((operation) => (operation === undefined ? [] : [keyOf(operation)])))];
}
