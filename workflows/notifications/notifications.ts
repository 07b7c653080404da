import {
  CancellationScope,
  condition,
  continueAsNew,
  log,
  proxyActivities,
  setCurrentDetails,
  workflowInfo,
} from '@temporalio/workflow';
import type { DroppedNotices, NotificationActivities } from '../../activities/notifications/notifications.ts';
import { KUBERNETES_EVENTS } from '../../api/notifications/types.ts';
import { maxVersions, type ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { Outbox, type OutboxState, type Outgoing } from '../../decisions/notifications/outbox.ts';
import { changed, notificationsProgress, tryReceivers, waitQueueOf, type TriedReceivers } from '../lib/messages.ts';
import { onQuery, onSignal } from '../lib/on-signal.ts';
import { WAIT_RETRY } from '../lib/queues.ts';

interface NotificationsInput {
  cluster: string;
  /** What a run hands to the next. */
  outbox?: OutboxState;
}

const { lookForNotices, reportDropped } = proxyActivities<NotificationActivities>({
  startToCloseTimeout: '1m',
  retry: { initialInterval: '500ms', maximumInterval: '30s' },
});

/** A receiver that answers nothing grows this history by a few events an hour. */
const delivery = () =>
  proxyActivities<NotificationActivities>({
    taskQueue: waitQueueOf(workflowInfo().taskQueue),
    startToCloseTimeout: '2m',
    scheduleToCloseTimeout: '1h',
    heartbeatTimeout: '10s',
    retry: WAIT_RETRY,
  });

/** Most new notices that one look returns. */
const AT_ONCE = 100;
/** A run that has grown longer than this ends. */
const LONG_EVENTS = 500;
/** After an hour without success. */
const AGAIN_MS = 300_000;
const LONGEST_WAIT_MS = 3_600_000;

/**
 * Notifies receivers of what users are to know: looks at the cluster whenever the watch has seen a change of that, and
 * notifies each receiver independently, so that a receiver that does not answer delays no other. Nothing else waits for
 * this workflow. It ends when nothing is left to tell, or to end.
 */
export const notifications = (input: NotificationsInput): Promise<void> =>
  // To end it would gain nothing: the watch would start it again.
  CancellationScope.nonCancellable(() => new Notifications(input).run());

class Notifications {
  readonly #cluster: string;
  readonly #outbox: Outbox;
  #minVersions: ResourceVersions = {};
  #isToLook = true;
  /** Whether there was more than there was room for. */
  #isMore = false;
  #toTry: string | null = null;
  #tried: TriedReceivers | null = null;
  readonly #inFlight = new Set<string>();
  #drops = 0;
  /** When receivers that failed for an hour are tried again, in milliseconds since the epoch. */
  readonly #notBefore = new Map<string, number>();
  #hasNews = false;

  constructor({ cluster, outbox }: NotificationsInput) {
    this.#cluster = cluster;
    this.#outbox = new Outbox(outbox);
  }

  async run(): Promise<void> {
    onSignal(changed, 'Something that users are to know of has changed: look again.', (seen) => {
      this.#minVersions = maxVersions(this.#minVersions, seen);
      this.#isToLook = true;
    });
    onSignal(tryReceivers, 'Send each receiver an event that says nothing.', (id) => (this.#toTry = id));
    onQuery(notificationsProgress, 'What waits for which receiver.', () => ({
      waiting: Object.entries(this.#outbox.state.queues).map(([receiver, queue]) => ({
        receiver,
        count: queue.length,
        since: new Date(queue[0]!.at).toISOString(),
      })),
      tried: this.#tried,
    }));
    for (;;) {
      if (this.#toTry !== null) await this.#try(this.#toTry);
      if (this.#isToLook || (this.#isMore && this.#outbox.capacity > 0)) await this.#look();
      this.#hasNews = false;
      this.#deliverDue();
      if (this.#isToLook || this.#toTry !== null || (this.#isMore && this.#outbox.capacity > 0)) continue;
      if (this.#outbox.isEmpty && this.#inFlight.size === 0 && this.#drops === 0) return;
      await this.#endIfLong();
      await condition(() => this.#isToLook || this.#hasNews || this.#toTry !== null, this.#waitMs());
    }
  }

  async #look(): Promise<void> {
    this.#isToLook = false;
    const capacity = Math.min(this.#outbox.capacity, AT_ONCE);
    const { keys } = this.#outbox;
    const looked = await lookForNotices({ keys, receivers: this.#outbox.state.receivers, capacity }, this.#minVersions);
    this.#outbox.looked(looked, Date.now());
    this.#isMore = looked.more;
  }

  /** Begins to tell each receiver what is due, and returns at once. */
  #deliverDue(): void {
    for (const { receiver, notices } of this.#outbox.advance(Date.now())) {
      const [first] = notices;
      this.#drop(receiver, { count: notices.length, first: first!, message: 'it did not take it in time' });
    }
    for (const receiver of this.#outbox.waiting) {
      if (this.#inFlight.has(receiver) || (this.#notBefore.get(receiver) ?? 0) > Date.now()) continue;
      this.#inFlight.add(receiver);
      void this.#deliver(receiver, this.#outbox.queue(receiver)).finally(() => {
        this.#inFlight.delete(receiver);
        this.#hasNews = true;
      });
    }
    const waiting = this.#outbox.waiting.map((one) => `- ${one}: ${this.#outbox.queue(one).length}`);
    setCurrentDetails(
      [`Tells receivers of cluster **${this.#cluster}** what users are to know of.`, ...waiting].join('\n'),
    );
  }

  async #deliver(receiver: string, outgoing: readonly Outgoing[]): Promise<void> {
    try {
      const summary = `tell ${receiver} of ${outgoing[0]!.type}`;
      const { ids, refused, isUnknown } = await delivery().deliver.executeWithOptions({ summary }, [
        receiver,
        outgoing,
      ]);
      if (isUnknown) this.#outbox.forget(receiver);
      else this.#outbox.delivered(receiver, ids);
      if (refused !== null) this.#drop(receiver, refused);
    } catch (error) {
      log.warn('a receiver does not take what it is told', { receiver, error: String(error) });
      this.#notBefore.set(receiver, Date.now() + AGAIN_MS);
    }
  }

  #drop(receiver: string, dropped: DroppedNotices): void {
    if (receiver === KUBERNETES_EVENTS) return;
    this.#drops++;
    void reportDropped(receiver, dropped).finally(() => {
      this.#drops--;
      this.#hasNews = true;
    });
  }

  async #try(id: string): Promise<void> {
    this.#toTry = null;
    try {
      this.#tried = { id, results: await delivery().tryReceivers(id) };
    } catch (error) {
      log.warn('receivers could not be tried', { error: String(error) });
    }
  }

  /** What is being delivered is delivered again by the next run, under the same ids. */
  async #endIfLong(): Promise<void> {
    const { continueAsNewSuggested, historyLength } = workflowInfo();
    const isLong = continueAsNewSuggested || historyLength > LONG_EVENTS;
    if (!isLong || this.#drops > 0) return;
    await continueAsNew<typeof notifications>({ cluster: this.#cluster, outbox: this.#outbox.state });
  }

  #waitMs(): number {
    const now = Date.now();
    const times = [this.#outbox.nextAt(now) ?? Infinity, ...[...this.#notBefore.values()].filter((at) => at > now)];
    return Math.min(Math.max(Math.min(...times) - now, 1_000), LONGEST_WAIT_MS);
  }
}
