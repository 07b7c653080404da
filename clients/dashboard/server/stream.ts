import type { ServerResponse } from 'node:http';
import type { Delta, Heartbeat, Message, Session } from '../contract/messages.ts';
import type { FleetDelta } from '../fleet/fleet.ts';

/** What is sent. */
interface Source {
  /** Returns what has changed since the last call. */
  collect: () => FleetDelta | null;
  /** Returns all that is known. */
  whole: () => FleetDelta;
  /** The time by which the rest is meant, in milliseconds since the epoch. */
  now: () => number;
}

/** Changes within this time are sent together: a browser draws once for all of them. Milliseconds. */
const TOGETHER_MS = 200;
const HEARTBEAT_MS = 10_000;
/**
 * What may wait for a client that reads too slowly, beside all that was known when it last got that, in bytes; beyond,
 * it gets all anew instead. If that counted, a large fleet would be begun again for ever.
 */
const MOST_WAITING = 2_000_000;
/** A browser opens at most six. */
const MOST_CLIENTS = 64;

interface Client {
  response: ServerResponse;
  /** What may wait for it. */
  most: number;
  /** It was too slow for deltas. */
  isBehind: boolean;
}

/** Sends a fleet to browsers as server-sent events (`contract/messages.ts`). One watch serves all of them. */
export class Stream {
  readonly #source: Source;
  readonly #clients = new Set<Client>();
  #session: Session;
  #isSynced = false;
  #timers: NodeJS.Timeout[] = [];
  readonly #lifeMs: number | undefined;

  /** `lifeMs`: how long a connection lasts at most. Undefined: as long as it may. */
  constructor(source: Source, session: Session, lifeMs?: number) {
    this.#source = source;
    this.#session = session;
    this.#lifeMs = lifeMs;
  }

  /** How many browsers it is sent to. */
  get clients(): number {
    return this.#clients.size;
  }

  get session(): Session {
    return this.#session;
  }

  start(): this {
    this.#timers = [
      setInterval(() => this.flush(), TOGETHER_MS),
      setInterval(() => this.#sendAll(eventOf(this.#heartbeat())), HEARTBEAT_MS),
    ];
    return this;
  }

  /** Ends all connections. */
  stop(): void {
    this.#timers.forEach(clearInterval);
    for (const { response } of this.#clients) response.end();
    this.#clients.clear();
  }

  updateSession(changed: Partial<Session>): void {
    const session = { ...this.#session, ...changed };
    if (JSON.stringify(session) === JSON.stringify(this.#session)) return;
    this.#session = session;
    this.#sendAll(eventOf(session));
  }

  synced(): void {
    this.#isSynced = true;
    this.#sendChanged(this.#source.collect() ?? {});
  }

  /** Sends what has changed. */
  flush(): void {
    const changed = this.#source.collect();
    if (changed !== null) this.#sendChanged(changed);
  }

  #sendChanged(changed: FleetDelta): void {
    const delta: Delta = { type: 'delta', isSynced: this.#isSynced, ...changed };
    this.#sendAll(eventOf(delta));
  }

  /** Sends to this browser from now on. */
  attach(response: ServerResponse): void {
    if (this.#clients.size >= MOST_CLIENTS) {
      response.writeHead(503, { 'Retry-After': '10' }).end();
      return;
    }
    response.writeHead(200, { 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' });
    response.flushHeaders();
    const client: Client = { response, most: 0, isBehind: true };
    this.#clients.add(client);
    this.#endInTime(response);
    // The socket reports its end here, however it came.
    response.on('close', () => this.#clients.delete(client));
    response.on('error', () => this.#clients.delete(client));
    response.on('drain', () => {
      if (client.isBehind) this.#sendWhole(client);
    });
    this.#sendWhole(client);
  }

  /** A browser comes back at once. Not all at the same moment. */
  #endInTime(response: ServerResponse): void {
    if (this.#lifeMs === undefined) return;
    const timer = setTimeout(() => response.end(), this.#lifeMs * (0.9 + Math.random() / 10));
    response.on('close', () => clearTimeout(timer));
  }

  #sendAll(text: string): void {
    for (const client of this.#clients) this.#send(client, text);
  }

  #send(client: Client, text: string): void {
    const { response, most, isBehind } = client;
    if (isBehind) return;
    if (response.writableLength > most) client.isBehind = true;
    else response.write(text);
  }

  #sendWhole(client: Client): void {
    // What the others have yet to get is in it.
    this.flush();
    const { response } = client;
    const whole: Delta = { type: 'delta', isWhole: true, isSynced: this.#isSynced, ...this.#source.whole() };
    for (const message of [this.#session, this.#heartbeat(), whole]) response.write(eventOf(message));
    client.most = response.writableLength + MOST_WAITING;
    client.isBehind = false;
  }

  #heartbeat(): Heartbeat {
    return { type: 'heartbeat', at: new Date(this.#source.now()).toISOString() };
  }
}

const eventOf = (message: Message): string => `data: ${JSON.stringify(message)}\n\n`;
