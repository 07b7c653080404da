import { cancellationSignal, Context, log } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { API_VERSION, EVENT_REPORTER, NOTICE_ACTION } from '../../api/labels-and-annotations.ts';
import type { Receiver } from '../../api/notifications/receivers.ts';
import { KUBERNETES_EVENTS, noticeRule } from '../../api/notifications/types.ts';
import type { EventReason } from '../../api/reasons.ts';
import { CoreEvents } from '../../api/resources.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { eventIdOf, type Outgoing } from '../../decisions/notifications/outbox.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { isAlreadyExists, isRefusal } from '../../kubernetes/errors.ts';
import { eventOf } from '../../kubernetes/event.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { cloudEventOf, parcelOf, testEvent, type CloudEvent } from './cloud-event.ts';
import { lookForNotices, type KnownNotices, type NoticesLook, type NoticeSource } from './find-notices.ts';
import type { Post, Posted } from './post.ts';

interface NotificationOptions {
  client: KubeClient;
  cache: NoticeSource & Pick<ClusterCache, 'catchUp'>;
  cluster: string;
  /** The receivers, as this worker's operator has configured them now. */
  receivers: () => readonly Receiver[];
  post: Post;
  /** Called with the outcome of this number of notices: of one try if it failed, otherwise for good. */
  onNotified?: (receiver: string, outcome: 'Taken' | 'Refused' | 'Dropped' | 'Failed', count: number) => void;
}

/** What a receiver was not told, to be told by an Event. */
export interface DroppedNotices {
  count: number;
  /** One of them. */
  first: Outgoing;
  message: string;
}

/** What a delivery has come to. */
export interface Delivered {
  /** Ids of the events that need not be sent again. */
  ids: string[];
  refused: DroppedNotices | null;
  /** This receiver is no longer configured on any worker. */
  isUnknown: boolean;
}

/** For how long workers may have different files with receivers, in milliseconds, as while they are replaced. */
const UNKNOWN_MS = 10 * 60_000;
/** An attempt ends after this, with what it has delivered. */
const ATTEMPT_MS = 30_000;
/** Delays between attempts, in milliseconds. */
const DELAY = { first: 1_000, longest: 300_000 } as const;

export function createNotificationActivities(options: NotificationOptions) {
  const { client, cache, cluster, receivers, post, onNotified = () => {} } = options;
  const receiverOf = (name: string): Receiver | undefined => receivers().find((one) => one.name === name);

  return {
    /** Finds what users are to know of and is not known yet. Reads the cache alone: a caller makes up nothing. */
    async lookForNotices(known: KnownNotices, minVersions: ResourceVersions): Promise<NoticesLook> {
      await cache.catchUp(minVersions);
      return lookForNotices(cache, receivers(), known, Date.now());
    },

    /**
     * Tells a receiver, one after the other or in one batch. Throws while the receiver takes nothing: Temporal tries
     * again, later and later, or when the receiver says.
     */
    deliver: async (name: string, outgoing: readonly Outgoing[]): Promise<Delivered> => {
      if (name === KUBERNETES_EVENTS) return await recordEvents(client, outgoing);
      const receiver = receiverOf(name);
      if (receiver === undefined) return unknownReceiver(name);
      const ends = performance.now() + ATTEMPT_MS;
      const delivered: Delivered = { ids: [], refused: null, isUnknown: false };
      const parts = receiver.batch ? [outgoing] : outgoing.map((one) => [one]);
      for (const part of parts) {
        if (performance.now() > ends || cancellationSignal().aborted) break;
        const posted = await send(
          receiver,
          part.map((one) => cloudEventOf(cluster, one)),
        );
        onNotified(name, posted.outcome, part.length);
        if (posted.outcome === 'Failed' && delivered.ids.length === 0) throw failureOf(name, posted);
        if (posted.outcome === 'Failed') break;
        if (posted.outcome === 'Refused' && part.length > 1) {
          // One of them may be the cause.
          parts.push(...part.map((one) => [one]));
          continue;
        }
        if (posted.outcome === 'Refused') {
          const { count = 0, first = part[0]! } = delivered.refused ?? {};
          delivered.refused = { count: count + 1, first, message: posted.message };
        }
        delivered.ids.push(...part.map(eventIdOf));
      }
      return delivered;
    },

    /** Counts what was dropped, and records an Event about it. */
    async reportDropped(receiver: string, { count, first, message }: DroppedNotices): Promise<void> {
      onNotified(receiver, 'Dropped', count);
      log.error('a receiver was not told', { receiver, count, type: first.type, ...first.about, message });
      const others = count === 1 ? '' : `, and ${count - 1} more`;
      const note = `receiver ${receiver} was not told of ${first.type} since ${first.since}${others}: ${message}`;
      await record(client, first, { reason: 'NotificationDropped', note, id: `${receiver}-${first.id.slice(0, 12)}` });
    },

    /** Sends an event that says nothing to each receiver, and returns what has become of it, by their names. */
    tryReceivers: async (id: string): Promise<Record<string, string>> => {
      const tried = receivers().map(async (receiver) => {
        const posted = await send(receiver, [testEvent(cluster, id, new Date())]);
        return [receiver.name, posted.outcome === 'Taken' ? '' : posted.message] as const;
      });
      return Object.fromEntries(await Promise.all(tried));
    },
  };

  function send(receiver: Receiver, events: readonly CloudEvent[]): Promise<Posted> {
    return post(receiver, parcelOf(receiver, events, new Date()));
  }
}

export type NotificationActivities = ReturnType<typeof createNotificationActivities>;

function unknownReceiver(name: string): Delivered {
  const { scheduledTimestampMs } = Context.current().info;
  if (Date.now() - scheduledTimestampMs > UNKNOWN_MS) return { ids: [], refused: null, isUnknown: true };
  throw failureOf(name, { message: 'this worker has no such receiver in its file' });
}

/** Temporal's Web UI shows it with the activity that waits. */
function failureOf(
  receiver: string,
  { message, retryAfterMs }: { message: string; retryAfterMs?: number },
): ApplicationFailure {
  const { attempt } = Context.current().info;
  const nextRetryDelay = retryAfterMs ?? Math.min(DELAY.first * 2 ** (attempt - 1), DELAY.longest);
  return ApplicationFailure.create({ type: 'NotTaken', message: `receiver ${receiver}: ${message}`, nextRetryDelay });
}

async function recordEvents(client: KubeClient, outgoing: readonly Outgoing[]): Promise<Delivered> {
  for (const one of outgoing) {
    const { event } = noticeRule(one.type);
    // No Event reports an end: other Events report what users or drover have done.
    if (one.phase === 'began' && event !== null)
      await record(client, one, { reason: event, note: `${one.message}: \`${one.command}\``, id: one.id.slice(0, 16) });
  }
  return { ids: outgoing.map(eventIdOf), refused: null, isUnknown: false };
}

/** Records an Event once, however often it is tried. Kubernetes has none about objects without a namespace. */
async function record(
  client: KubeClient,
  { about: { vm: _vm, namespace, ...about } }: Outgoing,
  { reason, note, id }: { reason: EventReason; note: string; id: string },
): Promise<void> {
  if (namespace === undefined) return;
  const event = { type: 'Warning', reason, action: NOTICE_ACTION, note } as const;
  const instance = Context.current().info.workflowExecution?.workflowId ?? '';
  try {
    const regarding = { apiVersion: API_VERSION, namespace, ...about };
    await client.create(CoreEvents, eventOf(regarding, event, { component: EVENT_REPORTER, instance, id }));
  } catch (error) {
    // Such as in a namespace that is being deleted.
    if (!isRefusal(error)) throw error;
    if (!isAlreadyExists(error)) log.warn('an Event could not be written', { reason, error: error.message });
  }
}
