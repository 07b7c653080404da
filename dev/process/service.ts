import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { lastLines, openLog, readLog } from './log-file.ts';
import { identify, signalGroup, type ProcessIdentity } from './process-identity.ts';
import type { ProcessReaper } from './reaper.ts';

export interface Launch {
  command: string;
  args: string[];
  cwd: string;
  env: NodeJS.ProcessEnv;
}

export interface ServiceSpec<Name extends string = string> {
  name: Name;
  launch: Launch;
  /** Polled until it returns true; `log` is what the process has logged since this start. */
  isReady: (log: string) => Promise<boolean> | boolean;
  /** Limits in seconds: to become ready, and to end after the stop signal. */
  readyWithin: number;
  stopWithin: number;
  stopSignal: NodeJS.Signals;
  /** Called before each start of the process, and (`onceReady`) each time it has become ready. */
  beforeStart?: () => void;
  onceReady?: () => void;
}

interface ServiceContext {
  logFile: string;
  reaper: ProcessReaper;
  /** Restart the process, with backoff, when it ends by itself. */
  restarts: boolean;
  onProgress: (line: string) => void;
  /** Called when the process has started or ended. */
  onChange: () => void;
}

/** The process did not become ready; `log` has its output. */
export class StartFailed extends Error {
  override readonly name = 'StartFailed';
  readonly log: string;

  constructor(message: string, log: string, logFile: string) {
    const said =
      log.trim() === '' ? `; it logged nothing to ${logFile}` : `; the last lines of ${logFile}:\n${lastLines(log)}`;
    super(message + said);
    this.log = log;
  }
}

const PROBE_EVERY_MS = 50;
const BACKOFF = { firstMs: 200, lastMs: 10_000 };
/** A process that ran this long before it ended resets its backoff. */
const STEADY_MS = 30_000;

interface Running extends ProcessIdentity {
  ended: Promise<string>;
  over: boolean;
  logStart: number;
}

/** One process of the stack, in its own process group: starts it, waits for it, restarts it when it ends, stops it. */
export class Service<Name extends string = string> {
  readonly spec: ServiceSpec<Name>;
  readonly #context: ServiceContext;
  #running: Running | undefined;
  #wanted: AbortController | undefined;
  #guard: Promise<void> | undefined;

  constructor(spec: ServiceSpec<Name>, context: ServiceContext) {
    this.spec = spec;
    this.#context = context;
  }

  get identity(): ProcessIdentity | undefined {
    const running = this.#running;
    return running === undefined || running.over ? undefined : { pid: running.pid, started: running.started };
  }

  /**
   * Resolves when the process is ready. If it ends early or takes too long, ends it and throws `StartFailed`. `signal`
   * aborts the wait.
   */
  async start(signal?: AbortSignal): Promise<void> {
    const wanted = new AbortController();
    this.#wanted = wanted;
    try {
      const running = await this.#startOnce(
        signal === undefined ? wanted.signal : AbortSignal.any([wanted.signal, signal]),
      );
      if (this.#context.restarts) this.#guard = this.#keepRunning(running, wanted.signal);
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** Ends the process with the stop signal, and with SIGKILL if it hasn't ended in time. */
  async stop(stopSignal: NodeJS.Signals = this.spec.stopSignal): Promise<void> {
    this.#wanted?.abort();
    const running = this.#running;
    if (running !== undefined) {
      signalGroup(running, stopSignal);
      await Promise.race([running.ended, sleep(this.spec.stopWithin * 1000, undefined, { ref: false })]);
      if (!running.over) signalGroup(running, 'SIGKILL');
      await running.ended;
    }
    await this.#guard;
  }

  /** Only sends the signal, like `kill` in another terminal. */
  kill(signal: NodeJS.Signals): void {
    if (this.#running !== undefined && !this.#running.over) process.kill(this.#running.pid, signal);
  }

  async #keepRunning(first: Running, wanted: AbortSignal): Promise<void> {
    const { name } = this.spec;
    const { onProgress } = this.#context;
    let running = first;
    let since = Date.now();
    let delay = BACKOFF.firstMs;
    for (;;) {
      const how = await running.ended;
      if (wanted.aborted) return;
      if (Date.now() - since > STEADY_MS) delay = BACKOFF.firstMs;
      onProgress(`${name} (pid ${running.pid}) ended (${how}); it starts again in ${delay / 1000} s`);
      for (;;) {
        await sleep(delay, undefined, { signal: wanted }).catch(() => {});
        if (wanted.aborted) return;
        delay = Math.min(delay * 2, BACKOFF.lastMs);
        try {
          running = await this.#startOnce(wanted);
          break;
        } catch (error) {
          if (wanted.aborted) return;
          onProgress(`${(error as Error).message}\n${name} starts again in ${delay / 1000} s`);
        }
      }
      since = Date.now();
      onProgress(`${name} is back (pid ${running.pid})`);
    }
  }

  async #startOnce(signal: AbortSignal): Promise<Running> {
    signal.throwIfAborted();
    const { name, isReady, readyWithin, beforeStart, onceReady } = this.spec;
    const { logFile } = this.#context;
    beforeStart?.();
    const running = await this.#spawn();
    const log = (): string => readLog(logFile, running.logStart);
    const deadline = Date.now() + readyWithin * 1000;
    try {
      for (;;) {
        signal.throwIfAborted();
        if (running.over) throw this.#endedEarly(await running.ended, running.logStart);
        // The probe may reach another process's server, so it counts only while our process runs.
        if ((await isReady(log())) && !running.over) {
          onceReady?.();
          return running;
        }
        if (Date.now() > deadline)
          throw new StartFailed(`${name} was not ready within ${readyWithin} s`, log(), logFile);
        await Promise.race([sleep(PROBE_EVERY_MS), running.ended]);
      }
    } catch (error) {
      signalGroup(running, 'SIGKILL');
      await running.ended;
      throw error;
    }
  }

  async #spawn(): Promise<Running> {
    const { launch } = this.spec;
    const { logFile, reaper, onChange } = this.#context;
    const log = openLog(logFile);
    let child: ChildProcess;
    try {
      // In its own session, Ctrl-C in the terminal reaches only the supervisor, which stops the processes in order.
      child = spawn(launch.command, launch.args, {
        cwd: launch.cwd,
        env: launch.env,
        detached: true,
        stdio: ['ignore', log.fd, log.fd],
      });
    } finally {
      closeSync(log.fd);
    }
    const ended = Promise.withResolvers<string>();
    child.once('error', (error) => ended.resolve(error.message));
    child.once('exit', (code, signal) => ended.resolve(signal ?? `exit code ${code}`));
    const identity = child.pid === undefined ? undefined : identify(child.pid);
    // A process that couldn't be started, or has ended already, has no identity.
    if (identity === undefined) throw this.#endedEarly(await ended.promise, log.start);

    reaper.add(identity);
    const running: Running = { ...identity, over: false, logStart: log.start, ended: ended.promise };
    child.once('exit', () => {
      running.over = true;
      reaper.drop(identity);
      onChange();
    });
    this.#running = running;
    onChange();
    return running;
  }

  #endedEarly(how: string, logStart: number): StartFailed {
    const { logFile } = this.#context;
    return new StartFailed(`${this.spec.name} ended before it was ready (${how})`, readLog(logFile, logStart), logFile);
  }
}
