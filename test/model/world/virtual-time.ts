import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
import { Clock } from './clock.ts';

/**
 * Something that runs by itself and can stop: a worker, KubeVirt's controllers, a user. What it has begun continues
 * only while it runs.
 */
export class Process {
  readonly name: string;
  state: 'running' | 'frozen' | 'dead' = 'running';
  /** It can reach Temporal, but not the API server. */
  isCutOff = false;
  /** Until when no event of its watches arrives. */
  deafUntil = 0;
  frozenAt = 0;
  /** Number of times that its connections were lost. */
  connections = 0;
  readonly #held: (() => void)[] = [];

  constructor(name: string) {
    this.name = name;
  }

  /** Runs `act` now, or once the process is thawed; never if it is dead. */
  run(act: () => void): void {
    if (this.state === 'running') act();
    else if (this.state === 'frozen') this.#held.push(act);
  }

  takeHeld(): (() => void)[] {
    return this.#held.splice(0);
  }
}

const running = new AsyncLocalStorage<Process>();
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
const realNow = performance.now.bind(performance);
const { random } = Math;
const realTimeout = (ms: number): AbortSignal => timeout.call(AbortSignal, ms);
const { timeout } = AbortSignal as { timeout: (this: typeof AbortSignal, ms: number) => AbortSignal };

/**
 * A global function that is virtual for what runs in the simulation. All else in Node's process keeps the real one: a
 * connection of an earlier test file may try again at any moment, and must not take a random number of the simulation.
 */
const within =
  <A extends unknown[], V, R>(virtual: (...args: A) => V, actual: (...args: A) => R) =>
  (...args: A): V | R =>
    running.getStore() === undefined ? actual(...args) : virtual(...args);

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
 * Time that jumps from one due moment to the next, for everything that runs within `simulate`: timers, the clock, and
 * randomness. Whatever a process has begun continues in that process, so a process can be frozen or killed with
 * everything that it has in progress.
 */
export class VirtualTime extends Clock {
  /** Called after each moment, once all code has come to rest. Returns true if it has started more. */
  afterEach: () => boolean = () => false;

  /** Runs `act` in that process after so many milliseconds. */
  later(ms: number, process: Process, act: () => void): Timer {
    const timer = new Timer();
    // What a snapshot does too, at half of the cost.
    const context = new AsyncResource('later');
    this.in(ms, () => {
      // A thawed process may clear the timer before its turn comes.
      const turn = (): void => {
        if (!timer.isOver) context.runInAsyncScope(() => running.run(process, act));
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
    // Servers soon close a connection that its client doesn't read.
    if (this.now - process.frozenAt > CONNECTION_LOST_MS) process.connections++;
    for (const act of process.takeHeld()) this.in(0, () => process.run(act));
  }

  /** Runs the simulation until `isOver`, or until nothing is due any more. */
  async simulate(begin: () => void, isOver: () => boolean): Promise<void> {
    if (current !== undefined) throw new Error('one simulation at a time');
    makeCurrent(this);
    this.#install();
    try {
      await running.run(nobody, async () => {
        begin();
        await this.#rest();
        while (!isOver() && this.next()) await this.#rest();
      });
    } finally {
      current = undefined;
      Object.assign(globalThis, real);
      Object.assign(performance, { now: realNow });
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
    const clock = within(() => this.now, RealDate.now);
    class VirtualDate extends RealDate {
      /** A date that was created before the simulation began is a date too. */
      static override [Symbol.hasInstance](value: unknown): boolean {
        return Object.prototype.toString.call(value) === '[object Date]';
      }

      constructor(...args: unknown[]) {
        super(...((args.length === 0 ? [clock()] : args) as [number]));
      }

      static override now(): number {
        return clock();
      }
    }
    Object.assign(globalThis, {
      Date: VirtualDate,
      setTimeout: within(setTimeout, realSetTimeout),
      setInterval: within(setInterval, realSetInterval),
      clearTimeout: clear,
      clearInterval: clear,
    });
    Object.assign(performance, { now: within(() => this.now, realNow) });
    Object.assign(Math, { random: within(() => this.chance(), random) });
    Object.assign(AbortSignal, { timeout: within(timeoutOf, realTimeout) });
  }
}

const clear = (timer: Timer | NodeJS.Timeout | undefined): void => {
  if (timer instanceof Timer) timer.isOver = true;
  else realClearTimeout(timer);
};

/** The process of whatever belongs to no process: the world itself. */
export const nobody = new Process('nobody');
export const processNow = (): Process => running.getStore() ?? nobody;
export const runAs = <T>(process: Process, act: () => T): T => running.run(process, act);
export const timeNow = (): VirtualTime => {
  if (current === undefined) throw new Error('no simulation runs');
  return current;
};

/** Replaces `node:timers/promises`. */
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
