import { AsyncResource } from 'node:async_hooks';
import { cancellationSignal } from '@temporalio/activity';
import { CancelledFailure } from '@temporalio/common';
import { maxVersions } from '../../decisions/lib/resource-versions.ts';
import { isRefusal, isTransient, KubeError } from '../../kubernetes/errors.ts';
import { Semaphore } from '../../kubernetes/lib/semaphore.ts';
import { Changes } from '../cache/changes.ts';
import { NotAdmitted } from '../disruption-budget/claim.ts';
import { inPlace } from '../disruption-budget/without-place.ts';
import { serverLost, serverRestored } from '../lib/shutdown.ts';
import { BEGUN_FOR_EACH } from './acts-of-waves.ts';
import type { Begun, DisruptionMethod, Turn, WaveOptions, WaveResult, WaveStop } from './method.ts';

/**
 * Changes close together count as one: within this time, in milliseconds, and longer if a look takes long, so that the
 * looks of a large fleet take at most a tenth of a core, and a twentieth while no VM is on its way.
 */
const SETTLE_MS = 10;
const SETTLE_LOOKS = 9;
const IDLE_SETTLE = { looks: 20, mostMs: 5_000 };
/** Without any change, the cluster is looked at again after this long, in case a watch has missed something. */
const LOOK_AGAIN_MS = 30_000;
/** Outcomes that matter are told after this long, in milliseconds: VMs that went down together fail together. */
const NEWS_MS = 1_000;
/** So many outcomes are told at once: Temporal limits the size of an answer. */
const MOST_OUTCOMES = 2_000;
/** At least so often it is told that the VMs are still waited for. */
const SILENT_MS = 600_000;
/** How long nothing is begun after a transient error, in milliseconds, times two for each in a row. */
const PAUSE_MS = 100;
/** The API server answers many first requests at once late: the window grows with each answer. */
const FIRST_WINDOW = 4;
/** How often a VM is tried again after such an error before it is given back, and the error told. */
const MAX_TRIES = 4;
const MAX_PAUSE_MS = 10_000;

/**
 * Disrupts VMs one by one: whenever one is back, the next goes down at once. Ends when all have an outcome, and earlier
 * to report outcomes, or if it can act on no VM. All is derived from the objects, so that an attempt on another worker
 * continues where this one was.
 */
export async function runWave<Item extends { name: string }, O extends { vm: string }, B extends Begun>(
  method: DisruptionMethod<Item, O, B>,
  options: WaveOptions,
): Promise<WaveResult<O, B>> {
  const changes = new Changes(options.cache, options.stopping, (change) => method.concerns(change));
  const wave = new Wave(method, options, changes);
  try {
    return await wave.run();
  } finally {
    wave.end();
  }
}

class Wave<Item extends { name: string }, O extends { vm: string }, B extends Begun> {
  readonly #method: DisruptionMethod<Item, O, B>;
  readonly #in: WaveOptions;
  readonly #changes: Changes;
  readonly #onTheirWay = new Map<string, { item: Item; begun: B }>();
  readonly #acting = new Map<string, Promise<void>>();
  readonly #outcomes: O[] = [];
  readonly #ended = new Set<string>();
  readonly #beganAt = Date.now();
  readonly #restores: number;
  readonly #acts: Semaphore;
  /** What may be acted on, as the last look has chosen it, the first at the end. */
  #next: Item[] = [];
  #failuresInARow = 0;
  readonly #tries = new Map<string, number>();
  #notBefore = 0;
  #newsSince: number | null = null;
  #idledMs: number;
  /** When a look last found that nothing was on its way, though it may be; null if the last one found otherwise. */
  #idleAt: number | null = null;
  /** Whether VMs are waited for that are not on their way, and when there is news of them. */
  #isOpen = true;
  #turnDueAt = Infinity;
  #hasStarted = false;
  #failure: { error: unknown } | null = null;

  constructor(method: DisruptionMethod<Item, O, B>, options: WaveOptions, changes: Changes) {
    this.#method = method;
    this.#in = options;
    this.#changes = changes;
    this.#restores = options.cache.restores;
    this.#acts = new Semaphore(Math.min(FIRST_WINDOW, options.concurrency));
    this.#idledMs = options.idledMs;
    const { begun, halfDone } = method.known;
    for (const one of begun) this.#onTheirWay.set(one.item.name, one);
    for (const item of halfDone) this.#begin(item, false);
    options.cancelRequested.addEventListener('abort', () => changes.poke());
  }

  /** Begins with nothing more. */
  end(): void {
    this.#next = [];
    this.#in.acts.leave(this.#goOn);
    this.#changes.stop();
  }

  async run(): Promise<WaveResult<O, B>> {
    for (;;) {
      cancellationSignal().throwIfAborted();
      if (this.#in.cache.lost.aborted) throw serverLost();
      if (this.#in.cache.restores !== this.#restores) throw serverRestored();
      if (this.#failure !== null) throw this.#failure.error;
      const began = performance.now();
      const now = Date.now();
      const times = await this.#look(now);
      const due = this.#dueAt(now);
      if (due <= now && this.#acting.size === 0) return this.#result();
      const nextLookAt = Math.min(
        due <= now ? Infinity : due,
        now + LOOK_AGAIN_MS,
        ...times.filter((time) => time > now),
      );
      await this.#changes.next(Math.max(nextLookAt - Date.now(), 1), this.#settleMs(performance.now() - began));
    }
  }

  #settleMs(lookMs: number): number {
    const { looks, mostMs } = IDLE_SETTLE;
    return Math.max(SETTLE_MS, this.#busy().size > 0 ? SETTLE_LOOKS * lookMs : Math.min(looks * lookMs, mostMs));
  }

  async #look(now: number): Promise<number[]> {
    this.#next = [];
    const times = await this.#follow(now);
    const stop = this.#method.stop(this.#outcomes, now);
    const mayStart = stop === null && !this.#in.cancelRequested.aborted;
    const turn = await this.#method.turn({ busy: this.#busy(), ended: this.#ended, mayStart }, now);
    this.#isOpen = turn.open > 0;
    this.#turnDueAt = turn.dueAt;
    if (!mayStart) this.#end(turn, stop);
    // What is reported at once includes VMs that it starts on.
    else if (!this.#hasStarted || this.#dueAt(now) > now) times.push(...this.#startNext(turn, now));
    return times;
  }

  async #follow(now: number): Promise<number[]> {
    const times: number[] = [];
    const late: string[] = [];
    const look = async (name: string, isConfirmed: boolean): Promise<void> => {
      const { item, begun } = this.#onTheirWay.get(name)!;
      const { outcome, isLate, times: next } = await this.#method.follow(item, begun, now);
      if (outcome === null) times.push(...next);
      else if (isLate && !isConfirmed) late.push(name);
      else this.#settle(outcome);
    };
    for (const name of this.#onTheirWay.keys()) if (!this.#acting.has(name)) await look(name, false);
    if (late.length === 0) return times;
    // The caches alone may be outdated.
    await this.#in.cache.confirm(late.map((name) => this.#method.keyOf(name)));
    for (const name of late) await look(name, true);
    return times;
  }

  #startNext(turn: Turn<Item>, now: number): readonly number[] {
    this.#hasStarted = true;
    if (turn.open === 0) return [];
    const pauseMs = this.#notBefore - performance.now();
    if (pauseMs > 0) return [now + pauseMs];
    this.#next = turn.next.toReversed();
    this.#beginNext();
    if (this.#next.length === 0) this.#in.acts.leave(this.#goOn);
    this.#countIdle(turn, now);
    return [...turn.times, ...this.#idle(turn, now)];
  }

  /**
   * Continues without another look, which takes longer at a large fleet than many acts do. It is called at the end of
   * another wave's act as well: what begins then belongs to this wave's activity, and does not end with the other.
   */
  readonly #goOn = AsyncResource.bind((): void => {
    const now = Date.now();
    if (this.#dueAt(now) > now) this.#beginNext();
  });

  /** Begins with as many as there are places for. A wave of one VM waits for no other. */
  #beginNext(): void {
    const { acts } = this.#in;
    let room = Math.min(this.#acts.free, BEGUN_FOR_EACH * this.#acts.size - this.#acting.size);
    for (let next = this.#next.at(-1); next !== undefined && room-- > 0; next = this.#next.at(-1)) {
      const isFirst = this.#acting.size + this.#onTheirWay.size + this.#ended.size === 0;
      if (!isFirst && !acts.isFree(this.#namespaceOf(next))) break;
      this.#begin(this.#next.pop()!, true);
    }
    if (this.#next.length > 0) acts.wait(this.#goOn);
  }

  /**
   * Adds up the time between looks in which VMs might have been taken, and none was. Time until a known time, such as
   * the start of a window, or until other waves leave places, is not idle, and neither is time without a wave: workers
   * may have been away.
   */
  #countIdle({ isTimed = false }: Turn<Item>, now: number): void {
    const isBusy = this.#busy().size > 0;
    const since = this.#idleAt === null ? 0 : Math.max(now - this.#idleAt, 0);
    this.#idledMs = isBusy ? 0 : this.#idledMs + since;
    this.#idleAt = isBusy || isTimed || this.#next.length > 0 ? null : now;
  }

  /** Gives the rest back if nothing is on its way that could make room for it. */
  #idle(turn: Turn<Item>, now: number): number[] {
    if (this.#idleAt === null && this.#idledMs === 0) return [];
    const leftMs = this.#in.idleMs - this.#idledMs;
    if (leftMs > 0) return this.#idleAt === null ? [] : [now + leftMs];
    this.#end(turn, { stop: 'full', message: turn.whyNot });
    return [];
  }

  #busy(): Set<string> {
    return new Set([...this.#acting.keys(), ...this.#onTheirWay.keys()]);
  }

  #end({ waiting }: Turn<Item>, stop: WaveStop | null): void {
    const end: WaveStop = stop ?? { stop: 'superseded', message: 'another request replaces it' };
    const onTheirWay = [...this.#onTheirWay.values()].map(({ item }) => item);
    for (const item of end.stop === 'superseded' ? [...waiting, ...onTheirWay] : waiting) {
      const outcome = this.#acting.has(item.name) ? null : this.#method.givenBack(item, end);
      if (outcome !== null) this.#settle(outcome);
    }
    // If a user asks for something else, waiting VMs keep waiting.
    if (stop !== null) this.#isOpen = false;
  }

  #namespaceOf = ({ name }: Item): string => this.#method.keyOf(name).split('/')[0]!;

  #begin(item: Item, isNew: boolean): void {
    const end = this.#in.acts.begin(this.#namespaceOf(item));
    const acting = this.#act(item, isNew).finally(() => {
      this.#acting.delete(item.name);
      end();
      this.#goOn();
      this.#changes.poke();
    });
    this.#acting.set(item.name, acting);
  }

  async #act(item: Item, isNew: boolean): Promise<void> {
    const begun = this.#method.begin(item, Date.now(), isNew);
    try {
      const outcome = await inPlace(this.#acts, this.#goOn, () => this.#method.execute(item, begun));
      // The worker that follows it must have seen what was done.
      if (outcome === null) await this.#in.cache.catchUp(this.#method.minVersions);
      this.#failuresInARow = 0;
      this.#acts.size = Math.min(this.#acts.size + 1, this.#in.concurrency);
      // Others would be refused as well.
      if (outcome instanceof NotAdmitted) return void (this.#next = []);
      // The time of a VM counts from when it was acted on.
      const since = isNew ? Date.now() : begun.since;
      if (outcome === null) this.#onTheirWay.set(item.name, { item, begun: { ...begun, since } });
      else this.#settle(outcome);
    } catch (error) {
      this.#handleError(item, error);
    }
  }

  #handleError(item: Item, error: unknown): void {
    // Temporal has told it of a cancellation before this wave has heard of that.
    if (error instanceof CancelledFailure) return;
    this.#next = [];
    if (!isTransient(error) || isRefusal(error)) return void (this.#failure = { error });
    const tries = (this.#tries.get(item.name) ?? 0) + 1;
    this.#tries.set(item.name, tries);
    // Users who wait for the VM should know: a webhook that can't be called may stay so for hours.
    const message = `the API server fails: ${(error as Error).message}`;
    const outcome = tries > MAX_TRIES ? this.#method.givenBack(item, { stop: 'failing', message }) : null;
    if (outcome !== null) return this.#settle(outcome);
    this.#acts.size = Math.max(Math.floor(this.#acts.size / 2), 1);
    const pause = Math.min(PAUSE_MS * 2 ** ++this.#failuresInARow, MAX_PAUSE_MS);
    const retryAfterMs = error instanceof KubeError ? error.retryAfterMs : undefined;
    this.#notBefore = Math.max(this.#notBefore, performance.now() + (retryAfterMs ?? pause));
  }

  #settle(outcome: O): void {
    this.#onTheirWay.delete(outcome.vm);
    this.#ended.add(outcome.vm);
    this.#outcomes.push(outcome);
    if (this.#method.isNews(outcome)) this.#newsSince ??= Date.now();
  }

  /** When this wave ends, or reports its outcomes; milliseconds since the epoch. */
  #dueAt(now: number): number {
    const isDone = !this.#isOpen && this.#onTheirWay.size + this.#acting.size === 0;
    if (isDone || this.#in.cancelRequested.aborted) return now;
    const news = this.#newsSince === null ? Infinity : this.#newsSince + NEWS_MS;
    const report = this.#outcomes.length === 0 ? SILENT_MS : this.#in.reportMs;
    if (this.#outcomes.length >= MOST_OUTCOMES) return now;
    return Math.min(news, this.#turnDueAt, this.#beganAt + report);
  }

  #result(): WaveResult<O, B> {
    const begun = [...this.#onTheirWay.values()].map((one) => one.begun);
    const isOver = !this.#isOpen && begun.length === 0;
    const minVersions = maxVersions(this.#method.minVersions, this.#in.cache.versionsOf('pools', 'vms', 'vmis'));
    return { outcomes: this.#outcomes, begun, isOver, idledMs: this.#idledMs, minVersions };
  }
}
