import {
  ActivityFailure,
  ApplicationFailure,
  CancelledFailure,
  WorkflowExecutionAlreadyStartedError,
} from '@temporalio/common';
import { taskQueueOf } from '../../../../workflows/lib/ids.ts';
import { frozen } from '../frozen.ts';
import { CLUSTER } from '../names.ts';
import { Process, timeNow } from '../virtual-time.ts';
import { ActivityTask, failureOf, type ActivityOptions, type Attempt, type ModelWorker } from './activity.ts';
import { clientOf } from './client.ts';
import { ContinueAsNew, Run, Scope, workflowNow } from './run.ts';

/** A fault in a workflow that would block it for good on a real server. */
class StuckWorkflow extends Error {}

const TOO_LONG = 4;
/** How soon a task is looked for again whose queue no worker polls. */
const UNPOLLED_MS = 200;
/** On which workflows run unless they are started on another. */
const QUEUE = taskQueueOf(CLUSTER);

interface Timing {
  /** Milliseconds before an activity of this type begins, in addition to the usual delay. */
  delayOf: (activity: string) => number;
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
  /** Called when a client signals a workflow. */
  onAsked: (id: string, name: string) => void = () => {};

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

  /** `queue`: the task queue on which it runs. */
  start(
    type: string,
    id: string,
    args: unknown[],
    { signal, queue = QUEUE }: { signal?: { name: string; args: unknown[] }; queue?: string | undefined } = {},
  ): Run {
    const known = this.runs.get(id);
    if (known?.isOpen === true)
      throw new WorkflowExecutionAlreadyStartedError('Workflow execution already started', id, type);
    const run = this.#begin(type, id, args, queue);
    if (signal !== undefined) run.buffered.push(signal);
    return run;
  }

  signalWithStart(
    type: string,
    { id, args, queue }: Pick<Run, 'id' | 'args'> & { queue?: string | undefined },
    name: string,
    signalArgs: unknown[],
  ): void {
    if (this.runs.get(id)?.isOpen === true) this.signal(id, name, signalArgs);
    else this.start(type, id, args, { signal: { name, args: signalArgs.map(frozen) }, queue });
  }

  /** Returns false if no workflow with that id runs. `from`: the run that signals; undefined if a client does. */
  signal(id: string, name: string, args: unknown[], from?: Run): boolean {
    const run = this.runs.get(id);
    if (run?.isOpen !== true) return false;
    if (from === undefined) this.onAsked(id, name);
    else this.onSignal(from, name, args);
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
      if (!run.isDirty || !run.isOpen || this.#code.state !== 'running' || !this.#isPolled(run)) continue;
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
      if (!this.#isPolled(run)) return this.enter(run, act, UNPOLLED_MS);
      run.isDirty = true;
      run.events += 4;
      try {
        workflowNow.run({ run, scope: run.root }, act);
      } catch (error) {
        this.stuck ??= { run, error };
      }
    });
  }

  #isPolled({ queue }: Run): boolean {
    return [...this.workers].some(({ process, polls }) => process.state === 'running' && polls(queue));
  }

  isLong(run: Run): boolean {
    return run.events > this.#longHistory;
  }

  /** Far beyond the length at which runs are told to continue as new. */
  isTooLong(run: Run): boolean {
    return run.events > TOO_LONG * this.#longHistory;
  }

  #begin(type: string, id: string, args: unknown[], queue: string): Run {
    const run = new Run({ id, runId: `run-${++this.#runs}`, type, args: args.map(frozen), queue });
    run.root = new Scope({ parent: null });
    const before = this.runs.get(id);
    if (before?.status === 'CONTINUED') run.firstRunId = before.firstRunId;
    this.runs.set(id, run);
    this.past.push(run);
    this.onBegin(run);
    this.enter(run, () => {
      const body = this.#workflows[type];
      if (body === undefined) throw new StuckWorkflow(`no workflow type ${type}`);
      // A workflow may continue with its arguments as its own state.
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
      const next = this.#begin(error.type ?? run.type, run.id, error.args, error.queue ?? run.queue);
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
    run.endedAt = timeNow().now;
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
        server: this,
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
    scope.onCancel((error) => {
      task.cancel();
      if (options.cancellationType === 'TRY_CANCEL') done.reject(failureOf(type, error));
    });
    if (type === 'beginOperation')
      done.promise.then(
        (result) => run.beginnings.push(result),
        () => {},
      );
    task.dispatch();
    return done.promise;
  }

  /** Attempts by task token. */
  readonly attempts = new Map<string, Attempt>();

  /** The client for activities and users. */
  readonly client = clientOf(this);
}
