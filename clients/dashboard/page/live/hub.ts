import type { Message, Session } from '../../contract/messages.ts';
import { Fleet } from './fleet.ts';
import type { Connection, Port, ToHub, ToTab } from './ports.ts';

/** The server says something every 10 seconds: after this a stream is dead, however open it looks. */
const SILENT_MS = 25_000;
const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 10_000;
/** The stream stays open so long without a tab that wants it: tabs are often looked at again at once. */
const LINGER_MS = 5_000;
const STREAM = '/api/stream';

/**
 * Keeps one stream for all tabs: a browser allows only six to a host, and each costs the server a queue. Runs in a
 * `SharedWorker`, or in the tab itself if the browser has none.
 */
export class Hub {
  readonly #tabs = new Map<Port, { isWanting: boolean }>();
  #fleet = new Fleet();
  #session: Session | null = null;
  #connection: Connection = { type: 'connection', state: 'connecting', since: Date.now() };
  #source: EventSource | null = null;
  #retryMs = FIRST_RETRY_MS;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #silence: ReturnType<typeof setTimeout> | undefined;
  #linger: ReturnType<typeof setTimeout> | undefined;

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

  #is(state: Connection['state']): void {
    if (this.#connection.state === state) return;
    this.#connection = { type: 'connection', state, since: Date.now() };
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
      this.#is('reconnecting');
      // Unless it is closed, the browser itself connects again, and gets what it has missed.
      if (source.readyState === EventSource.CLOSED) this.#again();
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
    this.#is('reconnecting');
    this.#retry = setTimeout(() => this.#open(), this.#retryMs);
    this.#retryMs = Math.min(this.#retryMs * 2, LAST_RETRY_MS);
    void this.#askWhetherSignedOut();
  }

  /** A stream does not say why it was refused. */
  async #askWhetherSignedOut(): Promise<void> {
    const answer = await fetch('/api/session').catch(() => null);
    if (answer?.status === 401) this.#is('signed-out');
  }
}
