import { RawValue } from '@temporalio/common';
import { msToNumber, type Duration } from '@temporalio/common/lib/time.js';
import { timeNow } from '../virtual-time.ts';
import type { ActivityOptions } from './activity.ts';
import { ContinueAsNew, Scope, workflowNow, type Run } from './run.ts';
import type { Temporal } from './temporal.ts';

/** Signal handlers receive undecoded payloads. */
const encoded = (payload: unknown): RawValue | undefined => (payload === undefined ? undefined : new RawValue(payload));

let server: Temporal | null = null;
/** Sets the server of the workflows that run from now on. */
export const serve = (temporal: Temporal): void => void (server = temporal);

const here = (): { run: Run; scope: Scope; temporal: Temporal } => {
  const store = workflowNow.getStore();
  if (store === undefined || server === null) throw new Error('no workflow runs here');
  return { ...store, temporal: server };
};

const activities = (options: ActivityOptions, isLocal: boolean): unknown =>
  new Proxy(
    {},
    {
      get(_target, type: string) {
        const call = (more: ActivityOptions, args: unknown[]): Promise<unknown> => {
          const { run, scope, temporal } = here();
          return temporal.activity({ run, scope }, type, { ...options, ...more, isLocal }, args);
        };
        return Object.assign((...args: unknown[]) => call({}, args), { executeWithOptions: call });
      },
    },
  );

function condition(holds: () => boolean, timeout?: Duration): Promise<boolean | void> {
  const { run, scope } = here();
  return new Promise((resolve, reject) => {
    if (scope.consideredCancelled) return void scope.cancelRequested.catch(reject);
    const waiting = { holds, done: (held: boolean) => resolve(timeout === undefined ? undefined : held) };
    run.waiting.add(waiting);
    run.isDirty = true;
    scope.onCancel((error) => {
      run.waiting.delete(waiting);
      reject(error);
    });
    if (timeout === undefined) return;
    here().temporal.enter(
      run,
      () => {
        if (run.waiting.delete(waiting)) waiting.done(false);
      },
      msToNumber(timeout),
    );
  });
}

function withTimeout<T>(timeout: Duration, act: () => Promise<T>): Promise<T> {
  const { run, temporal } = here();
  const scope = new Scope();
  temporal.enter(run, () => scope.cancel(), msToNumber(timeout));
  return scope.run(act);
}

const handleOf = (temporal: Temporal, workflowId: string) => {
  const { run: sender } = here();
  return {
    workflowId,
    signal: (signal: { name: string } | string, ...args: unknown[]): Promise<void> =>
      new Promise((resolve, reject) => {
        timeNow().in(timeNow().between(1, 15), () => {
          const isThere = temporal.signal(workflowId, typeof signal === 'string' ? signal : signal.name, args, sender);
          temporal.enter(sender, () =>
            isThere
              ? resolve()
              : reject(
                  Object.assign(new Error(`no workflow ${workflowId} runs`), {
                    name: 'ExternalWorkflowExecutionNotFound',
                  }),
                ),
          );
        });
      }),
    cancel: (): Promise<void> =>
      new Promise((resolve, reject) => {
        timeNow().in(timeNow().between(1, 15), () => {
          const isThere = temporal.cancel(workflowId);
          temporal.enter(sender, () => (isThere ? resolve() : reject(new Error(`no workflow ${workflowId} runs`))));
        });
      }),
  };
};

/** The API of `@temporalio/workflow`, for workflows that run in the model of Temporal. */
export const workflowApi = {
  CancellationScope: Object.assign(Scope, { withTimeout }),
  condition,
  proxyActivities: (options: ActivityOptions) => activities(options, false),
  proxyLocalActivities: (options: ActivityOptions) => activities(options, true),
  sleep: async (duration: Duration): Promise<void> => void (await condition(() => false, duration)),
  setHandler(
    definition: { type: 'signal' | 'query' | 'update'; name: string },
    handler: (...args: unknown[]) => unknown,
  ): void {
    const { run, temporal } = here();
    const isSignal = definition.type === 'signal';
    run.handlers.set(
      `${definition.type} ${definition.name}`,
      isSignal ? (payload) => handler(encoded(payload)) : handler,
    );
    temporal.redeliver(run);
  },
  continueAsNew: (...args: unknown[]): Promise<never> => Promise.reject(new ContinueAsNew(args)),
  makeContinueAsNewFunc:
    ({ workflowType, taskQueue }: { workflowType?: string; taskQueue?: string } = {}) =>
    (...args: unknown[]): Promise<never> =>
      Promise.reject(new ContinueAsNew(args, workflowType, taskQueue)),
  startChild: (
    type: string | { name: string },
    { workflowId, args = [] }: { workflowId: string; args?: unknown[] },
  ): Promise<unknown> => {
    const { run, temporal } = here();
    return new Promise((resolve, reject) => {
      timeNow().in(timeNow().between(1, 15), () => {
        try {
          const child = temporal.start(typeof type === 'string' ? type : type.name, workflowId, args, {
            queue: run.queue,
          });
          const result = (): Promise<unknown> =>
            new Promise((settled, failed) => {
              child.result.promise.then(
                (value) => temporal.enter(run, () => settled(value)),
                (error: unknown) => temporal.enter(run, () => failed(error)),
              );
            });
          temporal.enter(run, () => resolve({ workflowId, firstExecutionRunId: child.runId, result }));
        } catch (error) {
          temporal.enter(run, () => reject(error));
        }
      });
    });
  },
  getExternalWorkflowHandle: (workflowId: string) => handleOf(here().temporal, workflowId),
  workflowInfo: () => {
    const { run, temporal } = here();
    return {
      workflowId: run.id,
      runId: run.runId,
      firstExecutionRunId: run.firstRunId,
      workflowType: run.type,
      taskQueue: run.queue,
      historyLength: run.events,
      historySize: temporal.isTooLong(run) ? 16 * 2 ** 20 : 0,
      continueAsNewSuggested: temporal.isLong(run),
      memo: {},
      searchAttributes: {},
      unsafe: { isReplaying: false },
      startTime: new Date(0),
      attempt: 1,
    };
  },
  setCurrentDetails() {},
  getCurrentDetails: () => '',
  upsertSearchAttributes() {},
  upsertMemo() {},
  allHandlersFinished: () => true,
  patched: () => true,
  deprecatePatch() {},
  inWorkflowContext: () => workflowNow.getStore() !== undefined,
  uuid4: () =>
    `00000000-0000-4000-8000-${Math.floor(Math.random() * 2 ** 40)
      .toString(16)
      .padStart(12, '0')}`,
  log: { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} },
};
