import type { Notice } from '../../decisions/notifications/notices.ts';
import { dueAt, operationNotices, poolNotices, setNotices } from '../../decisions/notifications/notices.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import type { CacheChange } from '../cache/objects/cache-change.ts';
import { noticesIn } from '../notifications/find-notices.ts';
import type { Watched } from './watched.ts';

/** The one key: one workflow tells all that users are to know of. */
const ALL = 'notices';
/** What comes together is looked at together. */
const LEAST_MS = 1_000;

/**
 * What users are to know of: its workflow runs while there is any. What has to last before it is told becomes due
 * without a change of any object: most of it passes before, and costs nothing.
 */
export const watchedNotices = (cache: ClusterCache): Watched => {
  const areAny = (): boolean => noticesIn(cache, Date.now()).next().done !== true;
  let lookedAt = Date.now();
  const isAnyNew = (): boolean => {
    const since = lookedAt;
    lookedAt = Date.now();
    return [...noticesIn(cache, lookedAt)].some((notice) => dueAt(notice) > since);
  };
  return {
    what: 'notice',
    all: () => (areAny() ? [ALL] : []),
    exists: areAny,
    affected: (change) => (isOfNotices(change) ? [ALL] : []),
    leastMs: () => LEAST_MS,
    due: () => (isAnyNew() ? [ALL] : []),
    isUnsettled: areAny,
    versions: () => cache.versionsOf('pools', 'replicaSets', 'vmiSets'),
  };
};

/** Whether users are to know now of something else than before. */
function isOfNotices(change: CacheChange): boolean {
  if (change.kind === 'claim') return true;
  if (change.kind === 'pool') return differ(change, poolNotices);
  if (change.kind === 'operation') return differ(change, operationNotices);
  if (change.kind === 'replica set') return differ(change, setNotices);
  return change.kind === 'VMI replica set' && differ(change, setNotices);
}

const differ = <T>(
  { before, after }: { before: T | undefined; after: T | undefined },
  noticesOf: (object: T) => Notice[],
): boolean => {
  const now = Date.now();
  const idsOf = (object: T | undefined): string =>
    JSON.stringify(
      (object === undefined ? [] : noticesOf(object))
        .filter((notice) => dueAt(notice) <= now)
        .map(({ type, about, which, since }) => [type, about.uid, which, since]),
    );
  return idsOf(before) !== idsOf(after);
};
