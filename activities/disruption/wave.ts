import { cancellationSignal } from '@temporalio/activity';
import { isRefusal, isTransient, KubeError } from '../../kubernetes/errors.ts';
import type { Changes } from '../cache/changes.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { NoPlace } from '../disruption-budget/in-place.ts';
import { serverLost } from '../lib/shutdown.ts';
import type { Begun, DisruptionMethod, WaveStop } from './method.ts';

/** Changes close together count as one: for so long, in milliseconds, and longer if a look takes long. */
const SETTLE_MS = 10;
const SETTLE_LOOKS = 3;
/** Without any change, the cluster is looked at again after this long, in case a watch has missed something. */
const LOOK_AGAIN_MS = 30_000;
/** After a refused claim, the budget is counted again this much later, in milliseconds: others may give theirs back. */
const FULL_MS = 1_000;
/** If no VM is on its way and none can be begun with for this long, the rest is given back. */
const IDLE_MS = 2_000;
/** Outcomes that matter to others are told after this long, and all outcomes after that. */
const NEWS_MS = 1_000;
const REPORT_MS = 60_000;
/** At least so often it is told that the VMs are still waited for. */
const SILENT_MS = 600_000;
/** How long nothing is begun after a transient error, in milliseconds, times two for each in a row. */
const PAUSE_MS = 100;
/** How often a VM is tried again after such an error before it is given back, and the error told. */
const PATIENCE = 4;
const MAX_PAUSE_MS = 10_000;

export interface WaveOptions<Held> {
  vms: readonly Held[];
  /** Those that were begun with earlier, as a wave has returned them. */
  begun: readonly Begun[];
  cache: ClusterCache;
  changes: Changes;
  /** Aborted when no further VM is to be begun with, and those on their way are not waited for. */
  asked: AbortSignal;
  /** How many VMs are acted on at once. */
  concurrency: number;
  /** `namespace/name` of the VM with this name. */
  keyOf: (name: string) => string;
}

/** What has become of VMs; those without an outcome that were begun with. */
export interface WaveResult<O> {
  outcomes: O[];
  begun: Begun[];
}

/**
 * Disrupts VMs one by one: whenever one is back, the next goes down at once. Ends when all have an outcome, and earlier
 * to tell of outcomes, or if no VM can be taken. All is derived from the objects, so that an attempt on another worker
 * goes on where this one was.
 */
export const disrupt = <Held extends { name: string }, O extends { vm: string }>(
  method: DisruptionMethod<Held, O>,
  options: WaveOptions<Held>,
): Promise<WaveResult<O>> => new Wave(method, options).run();

class Wave<Held extends { name: string }, O extends { vm: string }> {
  readonly #method: DisruptionMethod<Held, O>;
  readonly #in: WaveOptions<Held>;
  readonly #queue = new Map<string, Held>();
  readonly #onTheirWay = new Map<string, { held: Held; begun: Begun }>();
  readonly #inHand = new Map<string, Promise<void>>();
  readonly #outcomes: O[] = [];
  readonly #beganAt = Date.now();
  /** How many of those in hand only wait. */
  #aside = 0;
  #window: number;
  #failuresInARow = 0;
  readonly #tries = new Map<string, number>();
  #notBefore = 0;
  #full: { why: string; until: number } | null = null;
  #newsSince: number | null = null;
  #idleSince: number | null = null;
  #error: unknown;
  #hasFailed = false;

  constructor(method: DisruptionMethod<Held, O>, options: WaveOptions<Held>) {
    this.#method = method;
    this.#in = options;
    this.#window = options.concurrency;
    options.asked.addEventListener('abort', () => options.changes.poke());
  }

  async run(): Promise<WaveResult<O>> {
    this.#sort();
    for (;;) {
      cancellationSignal().throwIfAborted();
      if (this.#in.cache.lost.aborted) throw serverLost();
      if (this.#hasFailed) throw this.#error;
      const began = performance.now();
      const now = Date.now();
      const times = await this.#look(now);
      const due = this.#dueAt(now);
      if (due <= now && this.#inHand.size === 0) return this.#result();
      const wakeAt = Math.min(due <= now ? Infinity : due, now + LOOK_AGAIN_MS, ...times.filter((time) => time > now));
      const settleMs = Math.max(SETTLE_MS, SETTLE_LOOKS * (performance.now() - began));
      await this.#in.changes.next(Math.max(wakeAt - Date.now(), 1), settleMs);
    }
  }

  /** Tells VMs that are on their way from those whose turn has not come. */
  #sort(): void {
    const now = Date.now();
    const known = new Map(this.#in.begun.map((one) => [one.vm, one]));
    for (const held of this.#in.vms) {
      const begun = known.get(held.name);
      if (begun !== undefined) this.#onTheirWay.set(held.name, { held, begun });
      else if (this.#method.isQueued(held)) this.#queue.set(held.name, held);
      // An earlier attempt may have left it half done.
      else this.#begin(held, this.#method.begin(held, now, false), (begun) => begun);
    }
  }

  async #look(now: number): Promise<number[]> {
    const times = await this.#follow(now);
    const stop = this.#method.stop(this.#outcomes, now);
    if (stop !== null || this.#in.asked.aborted) this.#end(stop);
    else if (!this.#isDue(now)) times.push(...this.#takeNext(now));
    return times;
  }

  async #follow(now: number): Promise<number[]> {
    const times: number[] = [];
    const late: string[] = [];
    for (const [name, { held, begun }] of this.#onTheirWay) {
      if (this.#inHand.has(name)) continue;
      const found = await this.#method.follow(held, begun, now);
      if (found.outcome === null) times.push(...found.times);
      else if (found.isLate) late.push(name);
      else this.#settle(found.outcome);
    }
    if (late.length === 0) return times;
    // The caches alone may be outdated.
    await this.#in.cache.confirm(late.map((name) => this.#in.keyOf(name)));
    for (const name of late) {
      const one = this.#onTheirWay.get(name)!;
      const found = await this.#method.follow(one.held, one.begun, now);
      if (found.outcome === null) times.push(...found.times);
      else this.#settle(found.outcome);
    }
    return times;
  }

  #takeNext(now: number): number[] {
    if (this.#queue.size === 0) return [];
    if (now < this.#notBefore) return [this.#notBefore];
    let room = this.#full !== null && now < this.#full.until ? 0 : this.#method.room(this.#busy(), now);
    let hasTaken = false;
    for (const held of this.#queue.values()) {
      if (this.#inHand.size - this.#aside >= this.#window) break;
      if (this.#inHand.has(held.name)) continue;
      if (this.#method.costs(held) && room-- <= 0) continue;
      hasTaken = true;
      // Its time counts from when it was acted on.
      this.#begin(held, this.#method.begin(held, now, true), (begun) => ({ ...begun, since: Date.now() }));
    }
    this.#idleSince = hasTaken || this.#busy().length > 0 ? null : (this.#idleSince ?? now);
    return [...(this.#full === null ? [] : [this.#full.until]), ...this.#idle(now)];
  }

  /** Gives the rest back if nothing is on its way that could make room for it. */
  #idle(now: number): number[] {
    if (this.#idleSince === null) return [];
    const until = this.#idleSince + IDLE_MS;
    if (now < until) return [until];
    this.#end({ stop: 'full', why: this.#full?.why ?? 'the disruption budget is used up' });
    return [];
  }

  /** Names of those in hand or on their way. */
  #busy(): string[] {
    return [...new Set([...this.#inHand.keys(), ...this.#onTheirWay.keys()])];
  }

  #end(stop: WaveStop | null): void {
    const why: WaveStop = stop ?? { stop: 'superseded', why: 'another takes its place' };
    for (const held of this.#queue.values()) {
      if (this.#inHand.has(held.name)) continue;
      this.#settle(this.#method.givenBack(held, why));
    }
    if (why.stop !== 'superseded') return;
    for (const [name, { held }] of this.#onTheirWay) {
      if (!this.#inHand.has(name)) this.#settle(this.#method.givenBack(held, why));
    }
  }

  #begin(held: Held, begun: Begun, acted: (begun: Begun) => Begun): void {
    const { name } = held;
    const acting = this.#act(held, () => acted(begun)).finally(() => {
      this.#inHand.delete(name);
      this.#in.changes.poke();
    });
    this.#inHand.set(name, acting);
  }

  async #act(held: Held, begun: () => Begun): Promise<void> {
    try {
      const outcome = await this.#method.take(held, (wait) => this.#waitAside(wait));
      this.#failuresInARow = 0;
      this.#window = Math.min(this.#window + 1, this.#in.concurrency);
      if (outcome instanceof NoPlace) {
        this.#queue.set(held.name, held);
        this.#full = { why: outcome.whyNot, until: Date.now() + FULL_MS };
        return;
      }
      this.#queue.delete(held.name);
      this.#full = null;
      if (outcome === null) this.#onTheirWay.set(held.name, { held, begun: begun() });
      else this.#settle(outcome);
    } catch (error) {
      this.#noteError(held, error);
    }
  }

  #noteError(held: Held, error: unknown): void {
    if (!isTransient(error) || isRefusal(error)) {
      this.#error = error;
      this.#hasFailed = true;
      return;
    }
    const tries = (this.#tries.get(held.name) ?? 0) + 1;
    this.#tries.set(held.name, tries);
    // Whoever waits for the VM should know: a webhook that can't be called may stay so for hours.
    if (tries > PATIENCE) {
      const why = `the API server fails: ${(error as Error).message}`;
      return this.#settle(this.#method.givenBack(held, { stop: 'failing', why }));
    }
    this.#queue.set(held.name, held);
    this.#window = Math.max(Math.floor(this.#window / 2), 1);
    const pause = Math.min(PAUSE_MS * 2 ** ++this.#failuresInARow, MAX_PAUSE_MS);
    const asked = error instanceof KubeError ? error.retryAfterMs : undefined;
    this.#notBefore = Math.max(this.#notBefore, Date.now() + (asked ?? pause));
  }

  async #waitAside<T>(wait: Promise<T>): Promise<T> {
    this.#aside++;
    this.#in.changes.poke();
    try {
      return await wait;
    } finally {
      this.#aside--;
    }
  }

  #settle(outcome: O): void {
    this.#queue.delete(outcome.vm);
    this.#onTheirWay.delete(outcome.vm);
    this.#outcomes.push(outcome);
    if (this.#method.isNews(outcome)) this.#newsSince ??= Date.now();
  }

  #isDue(now: number): boolean {
    return this.#dueAt(now) <= now;
  }

  /** When this wave ends, or tells of its outcomes; milliseconds since the epoch. */
  #dueAt(now: number): number {
    if (this.#queue.size + this.#onTheirWay.size + this.#inHand.size === 0) return now;
    const news = this.#newsSince === null ? Infinity : this.#newsSince + NEWS_MS;
    return Math.min(news, this.#beganAt + (this.#outcomes.length === 0 ? SILENT_MS : REPORT_MS));
  }

  #result(): WaveResult<O> {
    return { outcomes: this.#outcomes, begun: [...this.#onTheirWay.values()].map(({ begun }) => begun) };
  }
}
