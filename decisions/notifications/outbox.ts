import { noticeRule } from '../../api/notifications/types.ts';
import { earliestAfter } from '../lib/earlier-and-later.ts';
import { dueAt, type Notice } from './notices.ts';

/** A notice as a look at the cluster has found it. */
export interface FoundNotice extends Notice {
  /** What it is known by as long as it holds, and again if it returns. */
  key: string;
  /** The id of its CloudEvent: the same from each worker, at any time. */
  id: string;
  /** The receivers that are to be told. */
  to: readonly string[];
}

/** Something to tell a receiver. */
export interface Outgoing extends Omit<FoundNotice, 'key' | 'to'> {
  phase: 'began' | 'ended';
  /** When it was put here, in milliseconds since the epoch. */
  at: number;
}

/** A notice that holds, or did a moment ago. */
interface Known {
  notice: FoundNotice;
  /** Receivers that are still to be notified, and receivers to notify of its end. */
  pending: readonly string[];
  notified: readonly string[];
  /** When it counts as ended, in milliseconds since the epoch: it may return until then. */
  endsAt?: number;
}

/** Plain data: each run of the workflow hands it to the next. Null: all is told, and it has no end. */
export interface OutboxState {
  known: Record<string, Known | null>;
  /** By receiver, the oldest first. */
  queues: Record<string, Outgoing[]>;
  /** Names of all receivers that there were. */
  receivers: readonly string[];
}

/** What a receiver was not told, because it did not answer in time. */
export interface Dropped {
  receiver: string;
  notices: Outgoing[];
}

/** What a look at the cluster has found. */
interface Look {
  began: readonly FoundNotice[];
  again: readonly FoundNotice[];
  ended: readonly string[];
  receivers: readonly string[];
}

/** What is no longer so for less than this has not ended: it is not told twice. */
export const RETURNS_MS = 60_000;
/** For how long a receiver is tried. */
export const KEEP_MS = 24 * 3_600_000;
/** What waits for one receiver. All else that holds waits in the cluster, and nothing of it is lost. */
export const QUEUE_LENGTH = 100;
/** Notices that are followed at once, and those of which only the key is kept. A run's input has at most 2 MB. */
const FOLLOWED = 1_000;
const KEYS = 5_000;

/** What is told, to whom it is still to be told, and what may end. */
export class Outbox {
  readonly state: OutboxState;

  constructor(state: OutboxState = { known: {}, queues: {}, receivers: [] }) {
    this.state = state;
  }

  /** Keys of all that is known: the next look tells what is new, and which of these have ended. */
  get keys(): string[] {
    return Object.keys(this.state.known);
  }

  /** How many more notices can be followed. */
  get capacity(): number {
    const all = Object.values(this.state.known);
    const followed = all.filter((known) => known !== null).length;
    return Math.max(0, Math.min(FOLLOWED - followed, KEYS - all.length));
  }

  /** Whether there is nothing to tell, or to wait for. */
  get isEmpty(): boolean {
    return this.keys.length === 0 && this.waiting.length === 0;
  }

  /** The receivers for which something waits. */
  get waiting(): string[] {
    return Object.keys(this.state.queues);
  }

  /** What waits for a receiver, the oldest first. */
  queue(receiver: string): readonly Outgoing[] {
    return this.state.queues[receiver] ?? [];
  }

  /**
   * Takes in what a look has found: what is new, or new to a receiver, and the known keys that no longer hold. `now`:
   * milliseconds.
   */
  looked({ began, again, ended, receivers }: Look, now: number): void {
    const { known } = this.state;
    const gone = new Set(ended);
    for (const [key, one] of Object.entries(known)) {
      if (one === null) {
        if (gone.has(key)) delete known[key];
      } else if (!gone.has(key)) delete one.endsAt;
      else if (isPending(one, now)) delete known[key];
      else one.endsAt ??= now + (noticeRule(one.notice.type).hasEnd ? RETURNS_MS : 0);
    }
    for (const notice of began) known[notice.key] = { notice, pending: notice.to, notified: [] };
    for (const notice of again) {
      const one = known[notice.key];
      if (one === undefined || one === null) continue;
      // It is known by the id with which it was first told.
      one.notice = { ...notice, id: one.notice.id };
      one.pending = [...one.pending, ...notice.to];
    }
    this.state.receivers = [...new Set([...this.state.receivers, ...receivers])];
  }

  /**
   * Puts into the queues what is due at this time, as far as they have room. Returns what was dropped: what has waited
   * for a day, or ended before its receiver had room.
   */
  advance(now: number): Dropped[] {
    const dropped = this.#expire(now);
    for (const [key, one] of Object.entries(this.state.known)) {
      if (one === null || isPending(one, now)) continue;
      if (one.endsAt === undefined || !noticeRule(one.notice.type).hasEnd) this.#begin(one, now);
      if (one.endsAt !== undefined && one.endsAt <= now) {
        const late = (phase: Outgoing['phase'], receivers: readonly string[]): Dropped[] =>
          receivers.map((receiver) => ({ receiver, notices: [outgoing(one.notice, phase, now)] }));
        dropped.push(...late('began', one.pending), ...late('ended', this.#end(one, now)));
        delete this.state.known[key];
      } else if (one.pending.length === 0 && !noticeRule(one.notice.type).hasEnd) this.state.known[key] = null;
    }
    return dropped;
  }

  /** When the time alone changes something, in milliseconds since the epoch; null if it does not. */
  nextAt(now: number): number | null {
    const times = Object.values(this.state.known).flatMap((one) => {
      if (one === null) return [];
      return one.endsAt ?? (isPending(one, now) ? dueAt(one.notice) : []);
    });
    const expiries = Object.values(this.state.queues).flatMap(([first]) =>
      first === undefined ? [] : first.at + KEEP_MS,
    );
    // What has no room yet is put into the queue once that has delivered something.
    return earliestAfter(now, [...times, ...expiries]);
  }

  /** Called when a receiver has been told these, or has refused them. */
  delivered(receiver: string, ids: readonly string[]): void {
    const done = new Set(ids);
    this.#keep(
      receiver,
      this.queue(receiver).filter((one) => !done.has(eventIdOf(one))),
    );
  }

  /** Forgets a receiver that there is no longer. */
  forget(receiver: string): void {
    this.#keep(receiver, []);
    for (const one of Object.values(this.state.known)) {
      if (one === null) continue;
      one.pending = one.pending.filter((other) => other !== receiver);
      one.notified = one.notified.filter((other) => other !== receiver);
    }
  }

  #begin(one: Known, now: number): void {
    const [has, lacks] = this.#byCapacity(one.pending);
    for (const receiver of has) this.#put(receiver, outgoing(one.notice, 'began', now));
    Object.assign(one, { pending: lacks, notified: [...one.notified, ...has] });
    // Its end is told in other words.
    if (lacks.length === 0) one.notice = { ...one.notice, message: '', to: [] };
  }

  /** Returns the receivers that can't be told of its end. */
  #end({ notice, notified }: Known, now: number): string[] {
    if (!noticeRule(notice.type).hasEnd) return [];
    const [has, lacks] = this.#byCapacity(notified);
    for (const receiver of has) this.#put(receiver, outgoing(notice, 'ended', now));
    return lacks;
  }

  #expire(now: number): Dropped[] {
    return this.waiting.flatMap((receiver) => {
      const all = this.queue(receiver);
      const notices = all.filter(({ at }) => at + KEEP_MS <= now);
      if (notices.length === 0) return [];
      this.#keep(receiver, all.slice(notices.length));
      return [{ receiver, notices }];
    });
  }

  #byCapacity(receivers: readonly string[]): [has: string[], lacks: string[]] {
    const hasCapacity = (receiver: string): boolean => this.queue(receiver).length < QUEUE_LENGTH;
    return [receivers.filter(hasCapacity), receivers.filter((receiver) => !hasCapacity(receiver))];
  }

  #put(receiver: string, one: Outgoing): void {
    this.#keep(receiver, [...this.queue(receiver), one]);
  }

  #keep(receiver: string, queue: Outgoing[]): void {
    if (queue.length === 0) delete this.state.queues[receiver];
    else this.state.queues[receiver] = queue;
  }
}

/** Whether it has not been so for long enough: the worker that found it may have a clock that is ahead. */
const isPending = ({ notice, notified }: Known, now: number): boolean => notified.length === 0 && dueAt(notice) > now;

const outgoing = ({ key: _key, to: _to, ...notice }: FoundNotice, phase: Outgoing['phase'], at: number): Outgoing => ({
  ...notice,
  phase,
  at,
});

/** The id of the CloudEvent that tells this. */
export const eventIdOf = ({ id, phase }: Pick<Outgoing, 'id' | 'phase'>): string =>
  phase === 'began' ? id : `${id}-ended`;
