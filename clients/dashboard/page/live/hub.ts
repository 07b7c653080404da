import type { Message, Session } from '../../contract/messages.ts';
import { clusterNow, hearTime } from './cluster-time.ts';
import { Fleet } from './fleet.ts';
import type { Connection, Port, ToHub, ToTab } from './ports.ts';
import { readStream, type Ended } from './read-stream.ts';

/** The server says something every 10 seconds: after this a stream is dead, however open it looks. */
const SILENT_MS = 25_000;
const FIRST_RETRY_MS = 200;
const LAST_RETRY_MS = 10_000;
/** The stream stays open so long without a tab that wants it: tabs are often looked at again at once. */
const LINGER_MS = 5_000;
/** A stream that is back within this time was not away. */
const BROKEN_MS = 1_000;

/**
 * Keeps one stream for all tabs: a browser allows only six to a host, and each costs the server a queue. Runs in a
 * `SharedWorker`, or in the tab itself if the browser has none.
 */
export class Hub {
  readonly #tabs = new Map<Port, { isWanting: boolean }>();
  #fleet = new Fleet();
  #session: Session | null = null;
  #connection: Connection = { type: 'connection', state: 'connecting', since: clusterNow(), message: null };
  /** Ends the stream; null while there is none. */
  #stream: AbortController | null = null;
  /** Of the last event that came with one: the server knows by it what has been missed. */
  #lastId: string | null = null;
  #retryMs = FIRST_RETRY_MS;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #silence: ReturnType<typeof setTimeout> | undefined;
  #linger: ReturnType<typeof setTimeout> | undefined;
  #broken: ReturnType<typeof setTimeout> | undefined;

  /** Takes a tab. */
  connect(port: Port): void {
    this.#tabs.set(port, { isWanting: false });
    port.addEventListener('message', ({ data }: MessageEvent<ToHub>) => this.#hear(port, data));
    port.start();
  }

  #hear(port: Port, message: ToHub): void {
    if (message.type === 'want') return this.#want(port, message.isWanted);
    // A tab that is closed, or crashes, says nothing: its lock becomes free.
    void navigator.locks.request(message.lock, () => {
      this.#want(port, false);
      this.#tabs.delete(port);
    });
  }

  #want(port: Port, isWanted: boolean): void {
    const tab = this.#tabs.get(port);
    if (tab === undefined || tab.isWanting === isWanted) return;
    tab.isWanting = isWanted;
    if (!isWanted) return this.#lingerWithoutTabs();
    clearTimeout(this.#linger);
    port.postMessage(this.#connection);
    port.postMessage({ type: 'heartbeat', seq: this.#fleet.seq ?? 0, at: new Date(clusterNow()).toISOString() });
    if (this.#session !== null) port.postMessage(this.#session);
    for (const message of this.#fleet.messages()) port.postMessage(message);
    if (this.#stream === null) this.#open();
  }

  #lingerWithoutTabs(): void {
    if ([...this.#tabs.values()].some(({ isWanting }) => isWanting)) return;
    clearTimeout(this.#linger);
    this.#linger = setTimeout(() => {
      this.#close();
      this.#fleet = new Fleet();
      this.#lastId = null;
      this.#is('connecting');
    }, LINGER_MS);
  }

  #broadcast(message: ToTab): void {
    for (const [port, { isWanting }] of this.#tabs) if (isWanting) port.postMessage(message);
  }

  #is(state: Connection['state'], message: string | null = null): void {
    clearTimeout(this.#broken);
    this.#broken = undefined;
    const before = this.#connection;
    if (before.state === state && before.message === message) return;
    this.#connection = {
      type: 'connection',
      state,
      since: before.state === state ? before.since : clusterNow(),
      message,
    };
    this.#broadcast(this.#connection);
  }

  #open(): void {
    this.#close();
    const stream = new AbortController();
    this.#stream = stream;
    this.#expectMore();
    const receive = (message: Message, id: string | null): void => {
      if (stream === this.#stream) this.#receive(message, id);
    };
    void readStream(this.#lastId, receive, stream.signal).then((ended) => {
      if (stream === this.#stream) this.#ended(ended);
    });
  }

  #receive(message: Message, id: string | null): void {
    this.#expectMore();
    if (message.type === 'delta' && message.seq !== (this.#fleet.seq ?? 0) + 1) {
      this.#lastId = null;
      return this.#again();
    }
    if (message.type === 'session') this.#session = message;
    if (message.type === 'heartbeat') hearTime(message.at);
    // Until the end of a snapshot, which has an id, nothing tells what is missing.
    this.#lastId = id ?? (message.type === 'snapshot' ? null : this.#lastId);
    this.#is('open');
    this.#retryMs = FIRST_RETRY_MS;
    this.#fleet.receive(message);
    this.#broadcast(message);
  }

  #expectMore(): void {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => this.#ended({ how: 'broken', message: null }), SILENT_MS);
  }

  #close(): void {
    clearTimeout(this.#retry);
    clearTimeout(this.#silence);
    this.#stream?.abort();
    this.#stream = null;
  }

  /** A server that ends a stream to judge its user anew is not away. */
  #ended({ how, message }: Ended): void {
    if (how === 'signed-out') this.#is(how, message);
    else if (how === 'refused') this.#is('reconnecting', message);
    else if (this.#connection.state !== 'signed-out')
      this.#broken ??= setTimeout(() => this.#is('reconnecting'), BROKEN_MS);
    this.#again();
  }

  /** Connects again, ever more slowly. A user who is signed out may sign in again in another tab. */
  #again(): void {
    this.#close();
    this.#retry = setTimeout(() => this.#open(), this.#retryMs);
    this.#retryMs = Math.min(this.#retryMs * 2, LAST_RETRY_MS);
  }
}
