import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Cells, Delta, Heartbeat, Message, Session, Snapshot } from '../contract/messages.ts';
import type { FleetDelta, FleetSnapshot } from '../fleet/fleet.ts';

/** What is sent. */
interface Source {
  /** Returns what has changed since the last call. */
  collect: () => FleetDelta | null;
  snapshot: () => FleetSnapshot;
  cells: () => Iterable<Cells>;
  /** The time by which the rest is meant, in milliseconds since the epoch. */
  now: () => number;
}

/** Changes within this time are sent together: a browser draws once for all of them. Milliseconds. */
const TOGETHER_MS = 200;
const HEARTBEAT_MS = 10_000;
/** Deltas that are kept for clients that come back, in characters. */
const KEPT = 2_000_000;
/**
 * What may wait for a client that reads too slowly, beside its last snapshot, in characters; beyond that it gets a new
 * snapshot instead. A snapshot that counted would be begun again for ever if it is larger.
 */
const MOST_QUEUED = 2_000_000;
/** A browser opens at most six. */
const MOST_CLIENTS = 64;

interface Client {
  response: ServerResponse;
  queue: string[];
  queued: number;
  /** What may wait for it. */
  most: number;
  /** The kernel's buffer is full: nothing is written until it drains. */
  isFull: boolean;
  /** It was too slow for deltas. */
  needsSnapshot: boolean;
}

/** Sends a fleet to browsers as server-sent events (`contract/messages.ts`). One watch serves all of them. */
export class Stream {
  readonly #source: Source;
  readonly #clients = new Set<Client>();
  /** Tells this start from others, whose numbers mean something else. */
  readonly #epoch = randomBytes(6).toString('base64url');
  readonly #kept: { seq: number; text: string }[] = [];
  #keptLength = 0;
  #seq = 0;
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
    this.flush();
    this.#isSynced = true;
    this.#sendAll(eventOf({ type: 'synced' }));
  }

  /** Sends what has changed. */
  flush(): void {
    const changed = this.#source.collect();
    if (changed === null) return;
    const delta: Delta = { type: 'delta', seq: ++this.#seq, ...changed };
    const text = eventOf(delta, this.#id(this.#seq));
    this.#kept.push({ seq: this.#seq, text });
    this.#keptLength += text.length;
    while (this.#keptLength > KEPT) this.#keptLength -= this.#kept.shift()!.text.length;
    this.#sendAll(text);
  }

  /** Sends to this browser from now on. `lastEventId`: of the last event that it has, if it was here before. */
  attach(response: ServerResponse, lastEventId: string | undefined): void {
    if (this.#clients.size >= MOST_CLIENTS) {
      response.writeHead(503, { 'Retry-After': '10' }).end();
      return;
    }
    response.writeHead(200, { 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' });
    response.flushHeaders();
    const client: Client = { response, queue: [], queued: 0, most: MOST_QUEUED, isFull: false, needsSnapshot: false };
    this.#clients.add(client);
    this.#endInTime(response);
    // The socket reports its end here, however it came.
    response.on('close', () => this.#clients.delete(client));
    response.on('error', () => this.#clients.delete(client));
    response.on('drain', () => {
      client.isFull = false;
      this.#pump(client);
    });
    this.flush();
    this.#send(client, eventOf(this.#session));
    this.#send(client, eventOf(this.#heartbeat()));
    const missed = this.#missedSince(lastEventId);
    if (missed === null) this.#pushWhole(client);
    else for (const text of missed) this.#push(client, text);
    if (missed !== null && this.#isSynced) this.#push(client, eventOf({ type: 'synced' }));
    this.#pump(client);
  }

  /** A browser that comes back at once gets what it has missed. Not all at the same moment. */
  #endInTime(response: ServerResponse): void {
    if (this.#lifeMs === undefined) return;
    const timer = setTimeout(() => response.end(), this.#lifeMs * (0.9 + Math.random() / 10));
    response.on('close', () => clearTimeout(timer));
  }

  #id(seq: number): string {
    return `${this.#epoch}.${seq}`;
  }

  /** Null if it was never here, or too much has happened since. */
  #missedSince(lastEventId: string | undefined): string[] | null {
    const [epoch, number = ''] = lastEventId?.split('.') ?? [];
    const seq = Number(number);
    if (epoch !== this.#epoch || !Number.isSafeInteger(seq) || seq > this.#seq) return null;
    const first = this.#kept[0]?.seq ?? this.#seq + 1;
    return seq + 1 < first ? null : this.#kept.filter((one) => one.seq > seq).map(({ text }) => text);
  }

  *#whole(): Generator<string> {
    const snapshot: Snapshot = { type: 'snapshot', seq: this.#seq, ...this.#source.snapshot() };
    yield eventOf(snapshot);
    for (const cells of this.#source.cells()) yield eventOf(cells);
    // Who loses the connection before this has not got all, and begins anew.
    yield eventOf(this.#isSynced ? { type: 'synced' } : this.#heartbeat(), this.#id(this.#seq));
  }

  #sendAll(text: string): void {
    for (const client of this.#clients) this.#send(client, text);
  }

  #send(client: Client, text: string): void {
    if (client.needsSnapshot) return;
    if (client.queued > client.most) {
      client.needsSnapshot = true;
      client.queue = [];
      client.queued = 0;
      return;
    }
    this.#push(client, text);
    this.#pump(client);
  }

  #pushWhole(client: Client): void {
    for (const text of this.#whole()) this.#push(client, text);
    client.most = client.queued + MOST_QUEUED;
  }

  #push(client: Client, text: string): void {
    client.queue.push(text);
    client.queued += text.length;
  }

  #pump(client: Client): void {
    while (!client.isFull && (client.queue.length > 0 || client.needsSnapshot)) {
      if (client.queue.length === 0) {
        client.needsSnapshot = false;
        this.flush();
        this.#push(client, eventOf(this.#session));
        this.#pushWhole(client);
      }
      const text = client.queue.shift()!;
      client.queued -= text.length;
      client.isFull = !client.response.write(text);
    }
  }

  #heartbeat(): Heartbeat {
    return { type: 'heartbeat', seq: this.#seq, at: new Date(this.#source.now()).toISOString() };
  }
}

const eventOf = (message: Message, id?: string): string =>
  `${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(message)}\n\n`;
