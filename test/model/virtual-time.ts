import { AsyncLocalStorage } from 'node:async_hooks';
import { Clock } from '../decisions/model/clock.ts';

/**
 * Something that runs by itself and can stop: a worker, KubeVirt's controllers, a person. What it has begun goes on
 * only while it runs.
 */
export class Process {
  readonly name: string;
  state: 'running' | 'frozen' | 'dead' = 'running';
  /** It reaches Temporal, but not the API server. */
  isCutOff = false;
  frozenAt = 0;
  /** Counts how often its connections have been lost. */
  connections = 0;
  readonly #held: (() => void)[] = [];

  constructor(name: string) {
    this.name = name;
  }

  /** Now, or once it runs again; never if it is dead. */
  run(act: () => void): void {
    if (this.state === 'running') act();
    else if (this.state === 'frozen') this.#held.push(act);
  }

  takeHeld(): (() => void)[] {
    return this.#held.splice(0);
  }
}

const running = new AsyncLocalStorage<Process>();
const inContext = (): (<T>(act: () => T) => T) => AsyncLocalStorage.snapshot();
const {
  setTimeout: realSetTimeout,
  setInterval: realSetInterval,
  clearTimeout: realClearTimeout,
  clearInterval: realClearInterval,
  setImmediate: realSetImmediate,
} = globalThis;
const RealDate = Date;
const real = {
  Date: RealDate,
  setTimeout: realSetTimeout,
  setInterval: realSetInterval,
  clearTimeout: realClearTimeout,
  clearInterval: realClearInterval,
};
const processNowMs = performance.now.bind(performance);
const { random } = Math;
const realTimeout = (ms: number): AbortSignal => timeout.call(AbortSignal, ms);
const { timeout } = AbortSignal as { timeout: (this: typeof AbortSignal, ms: number) => AbortSignal };

const CONNECTION_LOST_MS = 5_000;

let current: VirtualTime | undefined;

const makeCurrent = (time: VirtualTime): void => void (current = time);

class Timer {
  isOver = false;
  ref = (): this => this;
  unref = (): this => this;
  hasRef = (): boolean => true;
}

/**
 * Time that moves from one due moment to the next, for everything that runs within `simulate`: timers, the clock, and
 * chance. Whatever was begun by a process goes on in that process, so that one can be frozen or killed with all that it
 * has under way.
 */
export class VirtualTime extends Clock {
  /** Told after each moment, once everything has come to rest; true if that has set off more. */
  afterEach: () => boolean = () => false;

  /** Runs `act` in that process after so long. */
  later(ms: number, process: Process, act: () => void): Timer {
    const timer = new Timer();
    const within = inContext();
    this.in(ms, () => {
      // A process that is frozen may end the timer once it goes on, before its turn.
      const turn = (): void => {
        if (!timer.isOver) running.run(process, () => within(() => running.run(process, act)));
      };
      process.run(turn);
    });
    return timer;
  }

  freeze(process: Process): void {
    if (process.state !== 'running') return;
    process.state = 'frozen';
    process.frozenAt = this.now;
  }

  thaw(process: Process): void {
    if (process.state !== 'frozen') return;
    process.state = 'running';
    // Nobody keeps a connection for long that nobody reads.
    if (this.now - process.frozenAt > CONNECTION_LOST_MS) process.connections++;
    for (const act of process.takeHeld()) this.in(0, () => process.run(act));
  }

  /** Lets it go on until `isOver`, or nothing is due any more. */
  async simulate(begin: () => void, isOver: () => boolean): Promise<void> {
    if (current !== undefined) throw new Error('one simulation at a time');
    makeCurrent(this);
    this.#install();
    try {
      begin();
      await this.#rest();
      while (!isOver() && this.next()) await this.#rest();
    } finally {
      current = undefined;
      Object.assign(globalThis, real);
      Object.assign(performance, { now: processNowMs });
      Object.assign(Math, { random });
      Object.assign(AbortSignal, { timeout: realTimeout });
    }
  }

  async #rest(): Promise<void> {
    do await new Promise<void>((resolve) => void realSetImmediate(resolve));
    while (this.afterEach());
  }

  #install(): void {
    const setTimeout = (act: (...args: unknown[]) => void, ms = 0, ...args: unknown[]): Timer =>
      this.later(ms, processNow(), () => act(...args));
    const setInterval = (act: () => void, ms: number): Timer => {
      const process = processNow();
      const whole = new Timer();
      const again = (): void =>
        void this.later(ms, process, () => {
          if (whole.isOver) return;
          again();
          act();
        });
      again();
      return whole;
    };
    const timeoutOf = (ms: number): AbortSignal => {
      const over = new AbortController();
      setTimeout(() => over.abort(new DOMException('the time is over', 'TimeoutError')), ms);
      return over.signal;
    };
    const clock = (): number => this.now;
    class VirtualDate extends RealDate {
      constructor(...args: unknown[]) {
        super(...((args.length === 0 ? [clock()] : args) as [number]));
      }

      static override now(): number {
        return clock();
      }
    }
    Object.assign(globalThis, {
      Date: VirtualDate,
      setTimeout,
      setInterval,
      clearTimeout: clear,
      clearInterval: clear,
    });
    Object.assign(performance, { now: () => this.now });
    Object.assign(Math, { random: () => this.chance() });
    Object.assign(AbortSignal, { timeout: timeoutOf });
  }
}

const clear = (timer: Timer | undefined): void => {
  if (timer instanceof Timer) timer.isOver = true;
};

/** Of what nobody runs: the world itself. */
export const nobody = new Process('nobody');
export const processNow = (): Process => running.getStore() ?? nobody;
export const runAs = <T>(process: Process, act: () => T): T => running.run(process, act);
export const timeNow = (): VirtualTime => {
  if (current === undefined) throw new Error('no simulation runs');
  return current;
};

/** In place of `node:timers/promises`. */
export const sleeping = {
  setTimeout: <T>(ms?: number, value?: T, options: { signal?: AbortSignal } = {}): Promise<T> => {
    const { signal } = options;
    if (signal?.aborted === true) return Promise.reject(abortError(signal));
    return new Promise<T>((resolve, reject) => {
      const timer = globalThis.setTimeout(() => {
        signal?.removeEventListener('abort', end);
        resolve(value as T);
      }, ms);
      const end = (): void => {
        clearTimeout(timer);
        reject(abortError(signal!));
      };
      signal?.addEventListener('abort', end, { once: true });
    });
  },
};

const abortError = (signal: AbortSignal): Error =>
  Object.assign(new Error('The operation was aborted', { cause: signal.reason }), {
    name: 'AbortError',
    code: 'ABORT_ERR',
  });
