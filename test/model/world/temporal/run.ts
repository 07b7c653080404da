import { AsyncLocalStorage } from 'node:async_hooks';
import { CancelledFailure } from '@temporalio/common';

/** The run and scope of the workflow code that is running. */
export const workflowNow = new AsyncLocalStorage<{ run: Run; scope: Scope }>();

export class ContinueAsNew extends Error {
  readonly args: unknown[];
  readonly type: string | undefined;
  readonly queue: string | undefined;
  constructor(args: unknown[], type?: string, queue?: string) {
    super('continues as new');
    this.args = args;
    this.type = type;
    this.queue = queue;
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

  /** Calls `act` when the scope is cancelled; a scope that can't be cancelled never is. */
  onCancel(act: (error: unknown) => void): void {
    if (this.cancellable) this.cancelRequested.catch(act);
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
  readonly queue: string;
  readonly result = Promise.withResolvers<unknown>();
  readonly handlers = new Map<string, (...args: unknown[]) => unknown>();
  readonly buffered: { name: string; args: unknown[] }[] = [];
  readonly waiting = new Set<Waiting>();
  /** What `beginOperation` has returned to it: its activities read that from its history. */
  readonly beginnings: unknown[] = [];
  /** Approximate length of its history. */
  events = 3;
  isOpen = true;
  /** Milliseconds since the epoch; 0 while it is open. */
  endedAt = 0;
  isDirty = true;
  status: 'RUNNING' | 'COMPLETED' | 'FAILED' | 'TERMINATED' | 'CONTINUED' = 'RUNNING';
  root!: Scope;
  /** The run with which it began, before it continued as new. */
  firstRunId: string;

  constructor({ id, runId, type, args, queue }: Pick<Run, 'id' | 'runId' | 'type' | 'args' | 'queue'>) {
    this.id = id;
    this.runId = runId;
    this.firstRunId = runId;
    this.type = type;
    this.args = args;
    this.queue = queue;
    this.result.promise.catch(() => {});
  }
}
