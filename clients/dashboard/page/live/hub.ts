import type { Message, Session } from '../../contract/messages.ts';
import type { Fault } from '../../contract/requests.ts';
import { Fleet } from './fleet.ts';
import type { Connection, Port, ToHub, ToTab } from './ports.ts';

/** The server says something every 10 seconds: after this a stream is dead, however open it looks. */
const SILENT_MS = 25_000;
const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 10_000;
/** The stream stays open so long without a tab that wants it: tabs are often looked at again at once. */
const LINGER_MS = 5_000;
/** A stream that is back within this time was not away. */
const BROKEN_MS = 1_000;
const STREAM = '/api/stream';

/**
 * Keeps one stream for all tabs: a browser allows only six to a host, and each costs the server a queue. Runs in a
 * `SharedWorker`, or in the tab itself if the browser has none.
 */
export class Hub {
  readonly #tabs = new Map<Port, { isWanting: boolean }>();
  #fleet = new Fleet();
  #session: Session | null = null;
  #connection: Connection = { type: 'connection', state: 'connecting', since: Date.now(), why: null };
  #source: EventSource | null = null;
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
    if (this.#session !== null) port.postMessage(this.#session);
    for (const message of this.#fleet.messages()) port.postMessage(message);
    if (this.#source === null) this.#open();
  }

  #lingerWithoutTabs(): void {
    if ([...this.#tabs.values()].some(({ isWanting }) => isWanting)) return;
    clearTimeout(this.#linger);
    this.#linger = setTimeout(() => {
      this.#close();
      this.#fleet = new Fleet();
      this.#is('connecting');
    }, LINGER_MS);
  }

  #tell(message: ToTab): void {
    for (const [port, { isWanting }] of this.#tabs) if (isWanting) port.postMessage(message);
  }

  #is(state: Connection['state'], why: string | null = null): void {
    clearTimeout(this.#broken);
    this.#broken = undefined;
    const before = this.#connection;
    if (before.state === state && before.why === why) return;
    this.#connection = { type: 'connection', state, since: before.state === state ? before.since : Date.now(), why };
    this.#tell(this.#connection);
  }

  #open(): void {
    this.#close();
    const source = new EventSource(STREAM);
    this.#source = source;
    this.#expectMore();
    source.addEventListener('message', ({ data }: MessageEvent<string>) => {
      if (source === this.#source) this.#take(JSON.parse(data) as Message);
    });
    source.addEventListener('error', () => {
      if (source !== this.#source) return;
      // Unless it is closed, the browser itself connects again, and gets what it has missed. A server that ends a
      // stream to judge its user anew is not away.
      if (source.readyState === EventSource.CLOSED) this.#again();
      else this.#broken ??= setTimeout(() => this.#is('reconnecting'), BROKEN_MS);
    });
  }

  #take(message: Message): void {
    this.#expectMore();
    if (message.type === 'delta' && message.seq !== (this.#fleet.seq ?? 0) + 1) return this.#again();
    if (message.type === 'session') this.#session = message;
    this.#is('open');
    this.#retryMs = FIRST_RETRY_MS;
    this.#fleet.take(message);
    if (message.type !== 'heartbeat') this.#tell(message);
  }

  #expectMore(): void {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => this.#again(), SILENT_MS);
  }

  #close(): void {
    clearTimeout(this.#retry);
    clearTimeout(this.#silence);
    this.#source?.close();
    this.#source = null;
  }

  /** Connects again, ever more slowly. */
  #again(): void {
    this.#close();
    if (this.#connection.state !== 'signed-out') this.#is('reconnecting', this.#connection.why);
    this.#retry = setTimeout(() => this.#open(), this.#retryMs);
    this.#retryMs = Math.min(this.#retryMs * 2, LAST_RETRY_MS);
    void this.#askWhy();
  }

  /** A stream does not say why it was refused. */
  async #askWhy(): Promise<void> {
    const answer = await fetch('/api/session', { redirect: 'manual' }).catch(() => null);
    const { state } = this.#connection;
    if (answer === null && state === 'reconnecting') this.#is(state);
    if (answer === null || answer.ok || state === 'open') return;
    const fault = (await answer.json().catch(() => null)) as Partial<Fault> | null;
    // A proxy sends a browser that it does not know to its own page.
    const isSignedOut = answer.status === 401 || answer.type === 'opaqueredirect';
    this.#is(isSignedOut ? 'signed-out' : 'reconnecting', fault?.sentence ?? null);
  }
}
