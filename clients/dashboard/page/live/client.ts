import type { Session } from '../../contract/messages.ts';
import { clusterNow, hearTime } from './cluster-time.ts';
import { fetchJson } from './fetch-json.ts';
import { Fleet } from './fleet.ts';
import { Hub } from './hub.ts';
import type { Connection, ToHub, ToTab } from './ports.ts';

/** What this tab knows, and whether it follows. */
export class Client {
  readonly fleet = new Fleet();
  session: Session | null = null;
  connection: Connection = { type: 'connection', state: 'connecting', since: clusterNow(), message: null };
  /** When the user stopped the updates, in milliseconds since the epoch; null while they come. */
  pausedAt: number | null = null;
  /** When something of the fleet last came; null before that. */
  heardAt: number | null = null;
  readonly #changed: () => void;
  #port: MessagePort | undefined;

  constructor(changed: () => void) {
    this.#changed = changed;
  }

  /** Follows the stream until the tab is hidden or paused. */
  async start(): Promise<void> {
    const port = openPort(await sessionUser());
    this.#port = port;
    port.addEventListener('message', ({ data }: MessageEvent<ToTab>) => this.#hear(data));
    port.start();
    const lock = `drover-tab-${crypto.randomUUID()}`;
    void navigator.locks.request(lock, () => {
      // Once the lock is held: the worker would get it before, and take this tab for closed.
      this.#say({ type: 'hello', lock });
      return new Promise(() => {});
    });
    document.addEventListener('visibilitychange', () => this.#want());
    addEventListener('pagehide', () => this.#say({ type: 'want', isWanted: false }));
    addEventListener('pageshow', () => this.#want());
    this.#want();
  }

  /** Stops the updates, or continues with what is so by then. */
  togglePause(): void {
    this.pausedAt = this.pausedAt === null ? clusterNow() : null;
    this.#want();
    this.#changed();
  }

  #want(): void {
    this.#say({ type: 'want', isWanted: document.visibilityState === 'visible' && this.pausedAt === null });
  }

  #say(message: ToHub): void {
    this.#port?.postMessage(message);
  }

  #hear(message: ToTab): void {
    if (message.type === 'heartbeat') return hearTime(message.at);
    if (message.type === 'connection') this.connection = message;
    else if (message.type === 'session') this.session = message;
    else if (this.fleet.receive(message)) this.heardAt = clusterNow();
    this.#changed();
  }
}

/** The user for whom the server takes this tab; one may have signed out in this browser, and another in. */
async function sessionUser(): Promise<string> {
  const answer = await fetchJson<Session>('session');
  return answer.state === 'here' ? (answer.data.user ?? '') : '';
}

/** The one hub of all tabs of this user, or else one of this tab's own. */
function openPort(user: string): MessagePort {
  if (typeof SharedWorker === 'function')
    return new SharedWorker(new URL('./worker.ts', import.meta.url), { type: 'module', name: `drover ${user}` }).port;
  const { port1, port2 } = new MessageChannel();
  new Hub().connect(port1);
  return port2;
}
