import type { Message, Session } from '../../contract/messages.ts';
import { clusterNow, hearTime } from './cluster-time.ts';
import { Fleet } from './fleet.ts';
import { readStream, type Ended } from './read-stream.ts';

/**
 * How the stream is. `connecting`: nothing has come yet. `reconnecting`: it broke, and what is shown is from before
 * `since`. `signed-out`: the server does not know this browser, as after a new start, or the proxy before the server no
 * longer knows its user.
 */
interface Connection {
  state: 'connecting' | 'open' | 'reconnecting' | 'signed-out';
  /** Milliseconds since the epoch. */
  since: number;
  /** What the server says of why it refuses; null if it says nothing. */
  message: string | null;
}

/** The server says something every 10 seconds: after this a stream is dead, however open it looks. */
const SILENT_MS = 25_000;
const FIRST_RETRY_MS = 200;
const LAST_RETRY_MS = 10_000;
/** A stream that is back within this time was not away. */
const BROKEN_MS = 1_000;

type Timer = ReturnType<typeof setTimeout> | undefined;

/** What this tab knows, and whether it follows. A tab that is hidden or paused has no stream, and costs nothing. */
export class Client {
  readonly fleet = new Fleet();
  session: Session | null = null;
  connection: Connection = { state: 'connecting', since: clusterNow(), message: null };
  /** When the user stopped the updates, in milliseconds since the epoch; null while they come. */
  pausedAt: number | null = null;
  /** When something of the fleet last came; null before that. */
  heardAt: number | null = null;
  readonly #changed: () => void;
  /** Whether the tab is shown, and not paused. */
  #isWanted = false;
  /** Ends the stream. */
  #stream = new AbortController();
  #retryMs = FIRST_RETRY_MS;
  #retry: Timer;
  #silence: Timer;
  #broken: Timer;

  constructor(changed: () => void) {
    this.#changed = changed;
  }

  /** Follows the stream while the tab is neither hidden nor paused. */
  start(): void {
    document.addEventListener('visibilitychange', () => this.#want());
    addEventListener('pagehide', () => this.#want(false));
    addEventListener('pageshow', () => this.#want());
    this.#want();
  }

  /** Stops the updates, or continues with what is so by then. */
  togglePause(): void {
    this.pausedAt = this.pausedAt === null ? clusterNow() : null;
    this.#want();
    this.#changed();
  }

  #want(isShown = document.visibilityState === 'visible'): void {
    const isWanted = isShown && this.pausedAt === null;
    if (isWanted === this.#isWanted) return;
    this.#isWanted = isWanted;
    if (!isWanted) {
      this.#close();
      return this.#is('connecting');
    }
    // Until all comes anew, what is shown is from before.
    this.fleet.isSynced = false;
    this.#open();
  }

  #open(): void {
    this.#close();
    this.#stream = new AbortController();
    const { signal } = this.#stream;
    this.#expectMore();
    const receive = (message: Message): void => {
      if (!signal.aborted) this.#receive(message);
    };
    void readStream(receive, signal).then((ended) => {
      if (!signal.aborted) this.#ended(ended);
    });
  }

  #close(): void {
    clearTimeout(this.#retry);
    clearTimeout(this.#silence);
    this.#stream.abort();
  }

  #receive(message: Message): void {
    this.#expectMore();
    this.#retryMs = FIRST_RETRY_MS;
    this.#is('open');
    if (message.type === 'heartbeat') return hearTime(message.at);
    if (message.type === 'session') this.session = message;
    else {
      this.fleet.receive(message);
      this.heardAt = clusterNow();
    }
    this.#changed();
  }

  #expectMore(): void {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => this.#ended({ how: 'broken', message: null }), SILENT_MS);
  }

  /** A server that ends a stream to judge its user anew is not away. */
  #ended({ how, message }: Ended): void {
    if (how === 'signed-out') this.#is(how, message);
    else if (how === 'refused') this.#is('reconnecting', message);
    else if (this.connection.state !== 'signed-out')
      this.#broken ??= setTimeout(() => this.#is('reconnecting'), BROKEN_MS);
    this.#again();
  }

  /** Connects again, ever more slowly. A user who is signed out may sign in again in another tab. */
  #again(): void {
    this.#close();
    this.#retry = setTimeout(() => this.#open(), this.#retryMs);
    this.#retryMs = Math.min(this.#retryMs * 2, LAST_RETRY_MS);
  }

  #is(state: Connection['state'], message: string | null = null): void {
    clearTimeout(this.#broken);
    this.#broken = undefined;
    const { connection } = this;
    if (connection.state === state && connection.message === message) return;
    this.connection = { state, since: connection.state === state ? connection.since : clusterNow(), message };
    this.#changed();
  }
}
