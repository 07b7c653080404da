import { AsyncLocalStorage } from 'node:async_hooks';
import { asyncLocalStorage, Context, type Info } from '@temporalio/activity';
import { ActivityCancelledError, ActivityNotFoundError } from '@temporalio/client';
import {
  ActivityFailure,
  ApplicationFailure,
  CancelledFailure,
  defaultFailureConverter,
  defaultPayloadConverter,
  RetryState,
  TimeoutFailure,
  toPayloads,
  WorkflowExecutionAlreadyStartedError,
} from '@temporalio/common';
import { msOptionalToNumber, type Duration } from '@temporalio/common/lib/time.js';
import { frozen } from './frozen.ts';
import { Process, runAs, timeNow } from './virtual-time.ts';

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
}

/** A fault in a workflow that would block it for good on a real server. */
export class StuckWorkflow extends Error {}

export interface Timing {
  /** Milliseconds before an activity of this type begins, in addition to the usual delay. */
  delayOf: (activity: string) => number;
}

/** The run and scope of the workflow code that is running. */
export const workflowNow = new AsyncLocalStorage<{ run: Run; scope: Scope }>();

const TASK_LOST_MS = 10_000;

export class ContinueAsNew extends Error {
  readonly args: unknown[];
  readonly type: string | undefined;
  constructor(args: unknown[], type?: string) {
    super('continues as new');
    this.args = args;
    this.type = type;
  }
}

/** A cancellation scope of a workflow. */
export class Scope {
  readonly cancelRequested: Promise<never>;
  readonly parent: Scope | null;
  readonly cancellable: boolean;
  consideredCancelled = false;
  readonly #children = new Set<Scope>();
  #reject: (error: unknown) => void = () => {};

  constructor(options: { cancellable?: boolean; parent?: Scope | null } = {}) {
    this.parent = options.parent === undefined ? Scope.current() : options.parent;
    this.cancellable = options.cancellable ?? true;
    this.cancelRequested = new Promise<never>((_resolve, reject) => (this.#reject = reject));
    this.cancelRequested.catch(() => {});
    if (this.parent !== null) this.parent.#children.add(this);
    if (this.parent?.consideredCancelled === true && this.cancellable) this.cancel();
  }

  static current(): Scope {
    const { scope } = workflowNow.getStore()!;
    return scope;
  }
  static cancellable = <T>(run: () => Promise<T>): Promise<T> => new Scope().run(run);
  static nonCancellable = <T>(run: () => Promise<T>): Promise<T> => new Scope({ cancellable: false }).run(run);

  run<T>(act: () => Promise<T>): Promise<T> {
    return workflowNow.run({ run: workflowNow.getStore()!.run, scope: this }, act);
  }

  cancel(): void {
    if (this.consideredCancelled) return;
    this.#reject(new CancelledFailure('Cancellation scope cancelled'));
    if (!this.cancellable) return;
    this.consideredCancelled = true;
    for (const child of this.#children) child.cancel();
  }
}

interface Waiting {
  holds: () => boolean;
  done: (held: boolean) => void;
}

/** One run of a workflow. */
export class Run {
  readonly id: string;
  readonly runId: string;
  readonly type: string;
  readonly args: unknown[];
  readonly result = Promise.withResolvers<unknown>();
  readonly handlers = new Map<string, (...args: unknown[]) => unknown>();
  readonly buffered: { name: string; args: unknown[] }[] = [];
  readonly waiting = new Set<Waiting>();
  /** Approximate length of its history. */
  events = 3;
  isOpen = true;
  isDirty = true;
  status: 'RUNNING' | 'COMPLETED' | 'FAILED' | 'TERMINATED' | 'CONTINUED' = 'RUNNING';
  root!: Scope;

  constructor(id: string, runId: string, type: string, args: unknown[]) {
    this.id = id;
    this.runId = runId;
    this.type = type;
    this.args = args;
    this.result.promise.catch(() => {});
  }
}

/**
 * An in-memory Temporal server: workflows, signals, activities with timeouts and retries, as far as drover uses them.
 */
export class Temporal {
  readonly runs = new Map<string, Run>();
  /** All runs ever started, the oldest first. */
  readonly past: Run[] = [];
  readonly workers = new Set<ModelWorker>();
  /** Workflow code runs on any worker, so it stops while no worker runs. */
  readonly #code = new Process('workflows');
  readonly #workflows: Record<string, (...args: never[]) => Promise<unknown>>;
  readonly #timing: Timing;
  /** Number of events after which runs are told to continue as new. */
  readonly #longHistory: number;
  #runs = 0;
  #activities = 0;
  stuck: { run: Run; error: unknown } | null = null;
  /** Called when a run begins. */
  onBegin: (run: Run) => void = () => {};
  /** Called when a run signals another. */
  onSignal: (from: Run, name: string, args: unknown[]) => void = () => {};

  constructor(workflows: Record<string, (...args: never[]) => Promise<unknown>>, timing: Timing, longHistory: number) {
    this.#workflows = workflows;
    this.#timing = timing;
    this.#longHistory = longHistory;
  }

  /** Must be called when a worker was frozen, thawed, killed or started. */
  workersChanged(): void {
    const some = [...this.workers].some(({ process }) => process.state === 'running');
    if (some) timeNow().thaw(this.#code);
    else timeNow().freeze(this.#code);
  }

  start(type: string, id: string, args: unknown[], signal?: { name: string; args: unknown[] }): Run {
    const known = this.runs.get(id);
    if (known?.isOpen === true)
      throw new WorkflowExecutionAlreadyStartedError('Workflow execution already started', id, type);
    const run = this.#begin(type, id, args);
    if (signal !== undefined) run.buffered.push(signal);
    return run;
  }

  signalWithStart(type: string, id: string, args: unknown[], name: string, signalArgs: unknown[]): void {
    if (this.runs.get(id)?.isOpen === true) this.signal(id, name, signalArgs);
    else this.start(type, id, args, { name, args: signalArgs.map(frozen) });
  }

  /** Returns false if no workflow with that id runs. `from`: the run that signals; undefined if a client does. */
  signal(id: string, name: string, args: unknown[], from?: Run): boolean {
    const run = this.runs.get(id);
    if (run?.isOpen !== true) return false;
    if (from !== undefined) this.onSignal(from, name, args);
    run.buffered.push({ name, args: args.map(frozen) });
    this.enter(run, () => this.#deliver(run));
    return true;
  }

  /** Returns the query's answer; undefined if no workflow with that id runs. */
  query(id: string, name: string): unknown {
    const run = this.runs.get(id);
    return run?.isOpen === true
      ? frozen(workflowNow.run({ run, scope: run.root }, () => run.handlers.get(`query ${name}`)?.()))
      : undefined;
  }

  /** Returns false if no workflow with that id runs. */
  cancel(id: string): boolean {
    const run = this.runs.get(id);
    if (run?.isOpen !== true) return false;
    this.enter(run, () => run.root.cancel());
    return true;
  }

  terminate(id: string): void {
    const run = this.runs.get(id);
    if (run?.isOpen === true) this.#close(run, 'TERMINATED', () => run.result.reject(new Error('terminated')));
  }

  /** Resolves conditions that hold now. Returns true if there was one. */
  checkConditions = (): boolean => {
    let some = false;
    for (const run of this.runs.values()) {
      if (!run.isDirty || !run.isOpen || this.#code.state !== 'running') continue;
      run.isDirty = false;
      for (const waiting of run.waiting) {
        const holds = workflowNow.run({ run, scope: run.root }, waiting.holds);
        if (!holds) continue;
        run.waiting.delete(waiting);
        run.isDirty = true;
        some = true;
        waiting.done(true);
      }
    }
    return some;
  };

  /** Runs `act` as workflow code of the run, a moment later. */
  enter(run: Run, act: () => void, ms = timeNow().between(1, 15)): void {
    timeNow().later(ms, this.#code, () => {
      if (!run.isOpen) return;
      run.isDirty = true;
      run.events += 4;
      try {
        workflowNow.run({ run, scope: run.root }, act);
      } catch (error) {
        this.stuck ??= { run, error };
      }
    });
  }

  isLong(run: Run): boolean {
    return run.events > this.#longHistory;
  }

  #begin(type: string, id: string, args: unknown[]): Run {
    const run = new Run(id, `run-${++this.#runs}`, type, args.map(frozen));
    run.root = new Scope({ parent: null });
    this.runs.set(id, run);
    this.past.push(run);
    this.onBegin(run);
    this.enter(run, () => {
      const body = this.#workflows[type];
      if (body === undefined) throw new StuckWorkflow(`no workflow type ${type}`);
      // A workflow may go on with its arguments as its own state.
      body(...(structuredClone(run.args) as never[])).then(
        (result) => this.#close(run, 'COMPLETED', () => run.result.resolve(frozen(result))),
        (error: unknown) => this.#failed(run, error),
      );
      this.#deliver(run);
    });
    return run;
  }

  #failed(run: Run, error: unknown): void {
    if (error instanceof ContinueAsNew) {
      this.#close(run, 'CONTINUED', () => {});
      const next = this.#begin(error.type ?? run.type, run.id, error.args);
      next.buffered.push(...run.buffered.splice(0));
      next.result.promise.then(run.result.resolve, run.result.reject);
    } else if (
      error instanceof ApplicationFailure ||
      error instanceof CancelledFailure ||
      error instanceof ActivityFailure
    ) {
      this.#close(run, 'FAILED', () => run.result.reject(error));
    } else this.stuck ??= { run, error };
  }

  #close(run: Run, status: Run['status'], settle: () => void): void {
    if (!run.isOpen) return;
    run.isOpen = false;
    run.status = status;
    settle();
  }

  #deliver(run: Run): void {
    for (const signal of run.buffered.splice(0)) {
      const handler = run.handlers.get(`signal ${signal.name}`);
      if (handler === undefined) run.buffered.push(signal);
      else handler(...signal.args);
    }
  }

  redeliver(run: Run): void {
    if (run.buffered.length > 0) this.#deliver(run);
  }

  /** Runs an activity for a workflow, and resolves or rejects as its proxy does. */
  async activity(
    { run, scope }: { run: Run; scope: Scope },
    type: string,
    options: ActivityOptions & { isLocal: boolean },
    args: unknown[],
  ): Promise<unknown> {
    if (scope.consideredCancelled) throw new CancelledFailure('Cancellation scope cancelled');
    const { isLocal } = options;
    const done = Promise.withResolvers<unknown>();
    const task = new ActivityTask(
      {
        temporal: this,
        run,
        type,
        options,
        args: args.map(frozen),
        isLocal,
        id: String(++this.#activities),
        delayMs: isLocal ? 0 : this.#timing.delayOf(type),
      },
      (settle) => this.enter(run, () => settle(done), isLocal ? 0 : undefined),
    );
    scope.cancelRequested.catch((error: unknown) => {
      task.cancel();
      if (options.cancellationType === 'TRY_CANCEL') done.reject(failureOf(type, error));
    });
    task.dispatch();
    return done.promise;
  }

  /** Attempts by task token. */
  readonly attempts = new Map<string, Attempt>();

  /** The client for activities and people. */
  readonly client = {
    activity: {
      heartbeat: async (token: Uint8Array): Promise<void> => {
        await this.#way();
        this.attempts.get(String(token))!.confirm();
        await this.#way();
      },
    },
    workflow: {
      signalWithStart: async (
        type: string,
        {
          workflowId,
          args = [],
          signal,
          signalArgs = [],
        }: { workflowId: string; args?: unknown[]; signal: { name: string }; signalArgs?: unknown[] },
      ) => {
        await this.#way();
        this.signalWithStart(type, workflowId, args, signal.name, signalArgs);
      },
      getHandle: (workflowId: string) => ({
        signal: async (signal: { name: string } | string, ...args: unknown[]) => {
          await this.#way();
          if (!this.signal(workflowId, typeof signal === 'string' ? signal : signal.name, args))
            throw this.#notFound(workflowId);
        },
        describe: async () => {
          await this.#way();
          const run = this.runs.get(workflowId);
          if (run === undefined) throw this.#notFound(workflowId);
          return { status: { name: run.isOpen ? 'RUNNING' : run.status } };
        },
      }),
    },
    workflowService: {
      getWorkflowExecutionHistory: async ({ execution }: { execution: { runId: string } }) => {
        await this.#way();
        const run = this.past.find(({ runId }) => runId === execution.runId)!;
        return {
          history: {
            events: [
              {
                workflowExecutionStartedEventAttributes: {
                  input: { payloads: toPayloads(defaultPayloadConverter, ...run.args) },
                },
              },
            ],
          },
        };
      },
    },
    options: {
      namespace: 'default',
      loadedDataConverter: {
        payloadConverter: defaultPayloadConverter,
        failureConverter: defaultFailureConverter,
        payloadCodecs: [],
      },
    },
  };

  #way(): Promise<void> {
    return new Promise((resolve) => void setTimeout(resolve, timeNow().between(1, 8)));
  }

  #notFound(id: string): Error {
    return Object.assign(new Error(`workflow ${id} not found`), { name: 'WorkflowNotFoundError' });
  }
}

interface ActivityInput {
  temporal: Temporal;
  run: Run;
  type: string;
  options: ActivityOptions;
  args: unknown[];
  isLocal: boolean;
  id: string;
  delayMs: number;
}

type Settle = (done: PromiseWithResolvers<unknown>) => void;

/** An activity from its scheduling to its end, over all attempts. */
class ActivityTask {
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
      if (this.#isOver) return;
      if (this.#isCancelled && !this.#in.isLocal)
        return this.#settle((done) => done.reject(failureOf(this.#in.type, new CancelledFailure('CANCELLED'))));
      const workers = [...this.#in.temporal.workers].filter(
        ({ process, activities }) => process.state === 'running' && activities[this.#in.type] !== undefined,
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

  cancel(): void {
    this.#isCancelled = true;
    this.#current?.askToCancel('CANCELLED');
  }

  #ended(attempt: Attempt, ended: { result: unknown } | { error: unknown }): void {
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

/** One attempt of an activity on one worker, which may go on after Temporal has given up on it. */
class Attempt {
  readonly worker: ModelWorker;
  readonly #cancelled = Promise.withResolvers<never>();
  readonly #abort = new AbortController();
  readonly #done: (attempt: Attempt, ended: { result: unknown } | { error: unknown }) => void;
  #lastBeat = timeNow().now;
  #isOver = false;
  /** Why the activity should end, as the next heartbeat is told; null if it may go on. */
  #toBeCancelled: string | null = null;

  constructor(
    { temporal, run, type, options, args, isLocal, id }: ActivityInput,
    worker: ModelWorker,
    attempt: number,
    done: Attempt['_done'],
  ) {
    this.worker = worker;
    this.#done = done;
    this.#cancelled.promise.catch(() => {});
    const time = timeNow();
    const token = new TextEncoder().encode(`${id}/${attempt}`);
    temporal.attempts.set(String(token), this);
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
      temporal.client as never,
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
    if (this.#isOver || this.#toBeCancelled === 'NOT_FOUND') throw new ActivityNotFoundError('the attempt is over');
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
      const why = this.#toBeCancelled;
      if (why === null) return;
      time.later(time.between(1, 1_000), process, () => {
        const failure = new CancelledFailure(why);
        this.#abort.abort(failure);
        this.#cancelled.reject(failure);
      });
    });
  }

  #answer(ended: { result: unknown } | { error: unknown }): void {
    timeNow().later(timeNow().between(0, 5), this.worker.process, () => {
      if (this.#isOver) return;
      this.#isOver = true;
      this.#done(this, ended);
    });
  }

  /** Reports the attempt as failed; its code may go on. */
  #lose(what: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.askToCancel('NOT_FOUND');
    this.#done(this, { error: new TimeoutFailure(`activity ${what} timeout`, undefined, what as never) });
  }

  declare readonly _done: (attempt: Attempt, ended: { result: unknown } | { error: unknown }) => void;
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

const failureOf = (type: string, error: unknown): unknown =>
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
