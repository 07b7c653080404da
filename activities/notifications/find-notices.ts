import { createHash } from 'node:crypto';
import { matchesGlob, type Receiver } from '../../api/notifications/receivers.ts';
import { KUBERNETES_EVENTS, noticeRule } from '../../api/notifications/types.ts';
import {
  dueAt,
  operationNotices,
  poolNotices,
  setNotices,
  type Notice,
} from '../../decisions/notifications/notices.ts';
import { KEEP_MS, type FoundNotice } from '../../decisions/notifications/outbox.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';

export type NoticeSource = Pick<ClusterCache, 'pools' | 'replicaSets' | 'vmiSets' | 'operations' | 'isDelegated'>;

/** Characters: hundreds of messages fit into the input of a workflow. */
const MESSAGE_LENGTH = 400;

const hashOf = (text: string, length: number): string =>
  createHash('sha256').update(text).digest('hex').slice(0, length);

/** What a notice is known by as long as it holds, and if it returns. */
const keyOf = ({ about, type, which }: Notice): string => hashOf(`${about.uid}/${type}/${which}`, 16);

/**
 * Yields all that users are to know of now: neither what has not been so for long enough, nor what happened more than a
 * day before. `now`: milliseconds.
 */
export function* noticesIn(cache: NoticeSource, now: number): Generator<Notice> {
  for (const notice of allNotices(cache)) {
    const { about, type, since } = notice;
    if (about.namespace !== undefined && cache.isDelegated(about.namespace)) continue;
    const isRecent = noticeRule(type).hasEnd || Date.parse(since) > now - KEEP_MS;
    if (isRecent && dueAt(notice) <= now) yield notice;
  }
}

function* allNotices({ pools, replicaSets, vmiSets, operations }: NoticeSource): Generator<Notice> {
  for (const pool of pools.values()) yield* poolNotices(pool);
  for (const set of replicaSets.values()) yield* setNotices(set);
  for (const set of vmiSets.values()) yield* setNotices(set);
  for (const operation of operations.values()) yield* operationNotices(operation);
}

/** What a look has found that is not known yet, and the known keys that no longer hold. */
export interface NoticesLook {
  began: FoundNotice[];
  /** What is known and holds, for receivers that are new. */
  again: FoundNotice[];
  ended: string[];
  /** The names of the receivers, as this worker knows them. */
  receivers: string[];
  /** Whether there is more than was asked for. */
  more: boolean;
}

/** What the workflow knows: keys of notices, the receivers that there were then, and for how many more it has room. */
export interface KnownNotices {
  keys: readonly string[];
  receivers: readonly string[];
  capacity: number;
}

/** Compares all that holds with what is known; the oldest first. `now`: milliseconds. */
export function lookForNotices(
  cache: NoticeSource,
  receivers: readonly Receiver[],
  { keys, receivers: before, capacity }: KnownNotices,
  now: number,
): NoticesLook {
  const isKnown = new Set(keys);
  const gone = new Set(keys);
  const added = receivers.filter(({ name }) => !before.includes(name));
  const fresh: FoundNotice[] = [];
  const again: FoundNotice[] = [];
  for (const notice of noticesIn(cache, now)) {
    const key = keyOf(notice);
    gone.delete(key);
    const to = isKnown.has(key) ? addedOf(notice, added) : receiversOf(notice, receivers);
    if (to.length === 0) continue;
    const message = notice.message.slice(0, MESSAGE_LENGTH).toWellFormed();
    (isKnown.has(key) ? again : fresh).push({ ...notice, message, key, id: hashOf(`${key}/${notice.since}`, 32), to });
  }
  fresh.sort((a, b) => Date.parse(a.since) - Date.parse(b.since));
  const names = receivers.map(({ name }) => name);
  return { began: fresh.slice(0, capacity), again, ended: [...gone], receivers: names, more: fresh.length > capacity };
}

const receiversOf = (notice: Notice, receivers: readonly Receiver[]): string[] => [
  ...(noticeRule(notice.type).event === null ? [] : [KUBERNETES_EVENTS]),
  ...wanting(notice, receivers),
];

/** What has happened before there was a receiver is not told to it. */
const addedOf = (notice: Notice, added: readonly Receiver[]): string[] =>
  noticeRule(notice.type).hasEnd ? wanting(notice, added) : [];

const wanting = ({ type, about }: Notice, receivers: readonly Receiver[]): string[] =>
  receivers
    .filter(
      ({ types, namespaces }) =>
        (types?.some((glob) => matchesGlob(glob, type)) ?? true) &&
        (namespaces?.some((glob) => about.namespace !== undefined && matchesGlob(glob, about.namespace)) ?? true),
    )
    .map(({ name }) => name);
