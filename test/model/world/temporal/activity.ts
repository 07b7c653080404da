import { asyncLocalStorage, Context, type Info } from '@temporalio/activity';
import { ActivityCancelledError, ActivityNotFoundError } from '@temporalio/client';
import { ActivityFailure, ApplicationFailure, CancelledFailure, RetryState, TimeoutFailure } from '@temporalio/common';
import { msOptionalToNumber, type Duration } from '@temporalio/common/lib/time.js';
import { frozen } from '../frozen.ts';
import { runAs, timeNow, type Process } from '../virtual-time.ts';
import type { Run } from './run.ts';

type Activities = Record<string, (...args: never[]) => Promise<unknown>>;

export interface ActivityOptions {
  taskQueue?: string;
  startToCloseTimeout?: Duration;
  scheduleToStartTimeout?: Duration;
  scheduleToCloseTimeout?: Duration;
  heartbeatTimeout?: Duration;
  retry?: {
    initialInterval?: Duration;
    maximumInterval?: Duration;
    maximumAttempts?: number;
    backoffCoefficient?: number;
    nonRetryableErrorTypes?: string[];
  };
  cancellationType?: string;
}

/** A worker, as Temporal knows it. */
export interface ModelWorker {
  process: Process;
  activities: Activities;
  /** Whether it serves this task queue, and those of its waits and its watch. */
  polls: (queue: string) => boolean;
}

/** After which a task of a workflow goes to another worker. */
const TASK_LOST_MS = 10_000;

/** What attempts need of Temporal. */
interface ActivityServer {
  workers: ReadonlySet<ModelWorker>;
  /** Attempts by task token. */
  attempts: Map<string, Attempt>;
  /** The client for activities. */
  client: object;
}

interface ActivityInput {
  server: ActivityServer;
  run: Run;
  type: string;
  options: ActivityOptions;
  args: unknown[];
  isLocal: boolean;
  id: string;
  delayMs: number;
}

type Settle = (done: PromiseWithResolvers<unknown>) => void;
type Ended = { result: unknown } | { error: unknown };
type OnEnd = (attempt: Attempt, ended: Ended) => void;

/** An activity from its scheduling to its end, over all attempts. */
export class ActivityTask {
  readonly #in: ActivityInput;
  readonly #end: (settle: Settle) => void;
  readonly #scheduledAt = timeNow().now;
  #attempt = 0;
  #isOver = false;
  #isCancelled = false;
  #current: Attempt | null = null;

  constructor(input: ActivityInput, end: (settle: Settle) => void) {
    this.#in = input;
    this.#end = end;
    const { scheduleToCloseTimeout, scheduleToStartTimeout } = input.options;
    const time = timeNow();
    const toClose = msOptionalToNumber(scheduleToCloseTimeout);
    if (toClose !== undefined) time.in(toClose, () => this.#timedOut('SCHEDULE_TO_CLOSE'));
    const toStart = msOptionalToNumber(scheduleToStartTimeout);
    if (toStart !== undefined) {
      time.in(toStart, () => {
        if (this.#current === null) this.#timedOut('SCHEDULE_TO_START');
      });
    }
  }

  dispatch(afterMs = this.#in.isLocal ? 0 : timeNow().between(1, 15) + this.#in.delayMs): void {
    timeNow().in(afterMs, () => {
      if (this.#isOver || !this.#in.run.isOpen) return;
      if (this.#isCancelled && !this.#in.isLocal)
        return this.#settle((done) => done.reject(failureOf(this.#in.type, new CancelledFailure('CANCELLED'))));
      const workers = [...this.#in.server.workers].filter(
        ({ process, activities, polls }) =>
          process.state === 'running' && activities[this.#in.type] !== undefined && polls(this.#queue),
      );
      // The task stays in its queue until a worker takes it.
      if (workers.length === 0) return this.dispatch(200);
      this.#current = new Attempt(
        this.#in,
        workers[timeNow().between(0, workers.length - 1)]!,
        ++this.#attempt,
        (attempt, ended) => this.#ended(attempt, ended),
      );
    });
  }

  get #queue(): string {
    const { isLocal, options, run } = this.#in;
    return isLocal ? run.queue : (options.taskQueue ?? run.queue).replace(/\/(wait|watch)$/, '');
  }

  cancel(): void {
    this.#isCancelled = true;
    this.#current?.askToCancel('CANCELLED');
  }

  #ended(attempt: Attempt, ended: Ended): void {
    if (this.#isOver || attempt !== this.#current) return;
    if ('result' in ended) return this.#settle((done) => done.resolve(frozen(ended.result)));
    const { type, options, isLocal } = this.#in;
    const { error } = ended;
    if (error instanceof CancelledFailure && this.#isCancelled)
      return this.#settle((done) => done.reject(failureOf(type, error)));
    const retry = options.retry ?? {};
    const failure = error instanceof ApplicationFailure ? error : null;
    const isLast =
      failure?.nonRetryable === true ||
      retry.nonRetryableErrorTypes?.includes(failure?.type ?? '') === true ||
      (retry.maximumAttempts ?? 0) === this.#attempt;
    if (isLast || (this.#isCancelled && !isLocal)) return this.#settle((done) => done.reject(failureOf(type, error)));
    const first = msOptionalToNumber(retry.initialInterval) ?? 1_000;
    const most = msOptionalToNumber(retry.maximumInterval) ?? first * 100;
    const wait =
      msOptionalToNumber(failure?.nextRetryDelay) ??
      Math.min(first * (retry.backoffCoefficient ?? 2) ** (this.#attempt - 1), most);
    const toClose = msOptionalToNumber(options.scheduleToCloseTimeout);
    if (toClose !== undefined && timeNow().now + wait > this.#scheduledAt + toClose)
      return this.#settle((done) => done.reject(failureOf(type, error)));
    this.dispatch(wait);
  }

  #timedOut(what: string): void {
    if (this.#isOver) return;
    this.#current?.askToCancel('TIMED_OUT');
    this.#settle((done) =>
      done.reject(failureOf(this.#in.type, new TimeoutFailure(`activity ${what} timeout`, undefined, what as never))),
    );
  }

  #settle(settle: Settle): void {
    this.#isOver = true;
    this.#end(settle);
  }
}

/** One attempt of an activity on one worker, which may continue after Temporal has given up on it. */
export class Attempt {
  readonly worker: ModelWorker;
  readonly #run: Run;
  readonly #cancelled = Promise.withResolvers<never>();
  readonly #abort = new AbortController();
  readonly #done: OnEnd;
  #lastBeat = timeNow().now;
  #isOver = false;
  /** Why the activity should end, as the next heartbeat is told; null if it may continue. */
  #toBeCancelled: string | null = null;

  constructor(
    { server, run, type, options, args, isLocal, id }: ActivityInput,
    worker: ModelWorker,
    attempt: number,
    done: OnEnd,
  ) {
    this.worker = worker;
    this.#run = run;
    this.#done = done;
    this.#cancelled.promise.catch(() => {});
    const time = timeNow();
    const token = new TextEncoder().encode(`${id}/${attempt}`);
    server.attempts.set(String(token), this);
    const info = {
      activityId: id,
      activityType: type,
      attempt,
      isLocal,
      workflowExecution: { workflowId: run.id, runId: run.runId },
      workflowType: run.type,
      taskQueue: options.taskQueue ?? 'model',
      workflowNamespace: 'default',
      namespace: 'default',
      heartbeatTimeoutMs: msOptionalToNumber(options.heartbeatTimeout),
      startToCloseTimeoutMs: msOptionalToNumber(options.startToCloseTimeout) ?? 0,
      scheduleToCloseTimeoutMs: 0,
      scheduledTimestampMs: time.now,
      currentAttemptScheduledTimestampMs: time.now,
      taskToken: token,
      base64TaskToken: '',
      heartbeatDetails: undefined,
      priority: undefined,
    } as unknown as Info;
    const quiet = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} };
    const context = new Context(
      info,
      this.#cancelled.promise,
      this.#abort.signal,
      () => this.#beat(),
      server.client as never,
      quiet,
      undefined as never,
      [] as never,
    );
    runAs(worker.process, () =>
      asyncLocalStorage.run(context, () => {
        worker.activities[type]!(...(args as never[])).then(
          (result) => this.#answer({ result }),
          (error: unknown) => this.#answer({ error: asSent(error) }),
        );
      }),
    );
    // A local activity has no heartbeat: a dead worker is noticed when the workflow task times out.
    const heartbeatMs = isLocal ? undefined : msOptionalToNumber(options.heartbeatTimeout);
    if (heartbeatMs !== undefined) this.#miss(heartbeatMs);
    const closeMs = isLocal ? TASK_LOST_MS : msOptionalToNumber(options.startToCloseTimeout);
    if (closeMs !== undefined) this.#closeBy(closeMs, isLocal);
  }

  /** Answers a heartbeat. Throws if this attempt no longer counts, or should end. */
  confirm(): void {
    if (this.#isOver || !this.#run.isOpen || this.#toBeCancelled === 'NOT_FOUND')
      throw new ActivityNotFoundError('the attempt is over');
    this.#lastBeat = timeNow().now;
    if (this.#toBeCancelled !== null) throw new ActivityCancelledError('the activity is to end');
  }

  askToCancel(why: string): void {
    this.#toBeCancelled ??= why;
  }

  #closeBy(closeMs: number, isLocal: boolean): void {
    timeNow().in(closeMs, () => {
      // A worker keeps the workflow task of a long local activity alive.
      if (isLocal && this.worker.process.state === 'running') this.#closeBy(closeMs, isLocal);
      else this.#lose('START_TO_CLOSE');
    });
  }

  #miss(heartbeatMs: number): void {
    const due = this.#lastBeat + heartbeatMs;
    timeNow().in(due - timeNow().now, () => {
      if (this.#lastBeat + heartbeatMs > timeNow().now) this.#miss(heartbeatMs);
      else this.#lose('HEARTBEAT');
    });
  }

  #beat(): void {
    const time = timeNow();
    const { process } = this.worker;
    time.later(time.between(1, 8), process, () => {
      this.#lastBeat = time.now;
      // Heartbeats are throttled, so the answer arrives late.
      const why = this.#run.isOpen ? this.#toBeCancelled : 'NOT_FOUND';
      if (why === null) return;
      time.later(time.between(1, 1_000), process, () => {
        const failure = new CancelledFailure(why);
        this.#abort.abort(failure);
        this.#cancelled.reject(failure);
      });
    });
  }

  #answer(ended: Ended): void {
    timeNow().later(timeNow().between(0, 5), this.worker.process, () => {
      if (this.#isOver) return;
      this.#isOver = true;
      this.#done(this, ended);
    });
  }

  /** Reports the attempt as failed; its code may continue. */
  #lose(what: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.askToCancel('NOT_FOUND');
    this.#done(this, { error: new TimeoutFailure(`activity ${what} timeout`, undefined, what as never) });
  }
}

/**
 * Converts an error as the failure converter does: any error but Temporal's becomes an application failure of its name.
 */
function asSent(error: unknown): unknown {
  if (error instanceof ApplicationFailure || error instanceof CancelledFailure) return error;
  const { name = 'Error', message = String(error) } = (error ?? {}) as Partial<Error>;
  if (name === 'AbortError') return new CancelledFailure('aborted');
  return ApplicationFailure.create({ type: name, message, cause: error as Error });
}

export const failureOf = (type: string, error: unknown): unknown =>
  error instanceof CancelledFailure
    ? error
    : new ActivityFailure(
        `Activity task failed`,
        type,
        undefined,
        RetryState.MAXIMUM_ATTEMPTS_REACHED,
        undefined,
        error as Error,
      );
