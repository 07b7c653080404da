import { WorkflowNotFoundError } from '@temporalio/client';
import { defaultFailureConverter, defaultPayloadConverter, toPayloads } from '@temporalio/common';
import { STRANGERS } from '../strangers.ts';
import { timeNow } from '../virtual-time.ts';
import type { Attempt } from './activity.ts';
import type { Run } from './run.ts';

interface SignalWithStart {
  workflowId: string;
  taskQueue?: string;
  args?: unknown[];
  signal: { name: string };
  signalArgs?: unknown[];
}

/** What the client needs of the server. */
interface Server {
  runs: ReadonlyMap<string, Run>;
  past: readonly Run[];
  /** By task token. */
  attempts: ReadonlyMap<string, Attempt>;
  signal: (id: string, name: string, args: unknown[]) => boolean;
  query: (id: string, name: string) => unknown;
  signalWithStart: (
    type: string,
    start: { id: string; args: unknown[]; queue?: string | undefined },
    name: string,
    signalArgs: unknown[],
  ) => void;
}

interface Listed {
  workflowId: string;
  runId: string;
  taskQueue: string;
  closeTime?: Date;
}

/** The client of the model of Temporal, as far as drover uses it. */
export const clientOf = (temporal: Server) => ({
  activity: {
    heartbeat: async (token: Uint8Array): Promise<void> => {
      await way();
      temporal.attempts.get(String(token))!.confirm();
      await way();
    },
  },
  workflow: {
    signalWithStart: async (type: string, start: SignalWithStart) => {
      const { workflowId, taskQueue, args = [], signal, signalArgs = [] } = start;
      await way();
      temporal.signalWithStart(type, { id: workflowId, args, queue: taskQueue }, signal.name, signalArgs);
    },
    /** Knows queries for running workflows, by type and task queue, and for those that were ended. */
    list: async function* ({ query }: { query: string }): AsyncGenerator<Listed> {
      // Not `way()`: what is asked every few seconds would mix up the chances of all else.
      await new Promise((resolve) => void setTimeout(resolve, 5));
      if (query.includes('CloseTime')) {
        const since = Date.parse(/CloseTime > '([^']+)'/.exec(query)![1]!);
        for (const { id, runId, type, queue, status, endedAt } of temporal.past)
          if (query.includes(`'${type}'`) && (status === 'TERMINATED' || status === 'FAILED') && endedAt > since)
            yield { workflowId: id, runId, taskQueue: queue, closeTime: new Date(endedAt) };
        return;
      }
      const [, wanted] = /WorkflowType = '(\w+)'/.exec(query) ?? [];
      const queues = [...query.matchAll(/TaskQueue (!?=) '([^']+)'/g)];
      for (const { id, runId, type, queue, isOpen } of temporal.runs.values())
        if (
          isOpen &&
          (wanted === undefined || type === wanted) &&
          queues.every(([, how, one]) => (queue === one) === (how === '='))
        )
          yield { workflowId: id, runId, taskQueue: queue };
    },
    getHandle: (workflowId: string) => ({
      signal: async (signal: { name: string } | string, ...args: unknown[]) => {
        // Not `way()` either: what strangers cause must not change when other things happen.
        if (workflowId.includes(`/${STRANGERS}/`)) throw notFound(workflowId);
        await way();
        if (!temporal.signal(workflowId, typeof signal === 'string' ? signal : signal.name, args))
          throw notFound(workflowId);
      },
      describe: async () => {
        await way();
        const run = temporal.runs.get(workflowId);
        if (run === undefined) throw unknown(workflowId);
        return { status: { name: run.isOpen ? 'RUNNING' : run.status }, raw: {} };
      },
      query: async ({ name }: { name: string }): Promise<unknown> => {
        await way();
        const answer = temporal.query(workflowId, name);
        if (answer === undefined) throw unknown(workflowId);
        return answer;
      },
      result: async (): Promise<unknown> => {
        await way();
        const run = temporal.runs.get(workflowId);
        if (run === undefined) throw unknown(workflowId);
        return run.result.promise;
      },
    }),
  },
  withAbortSignal: <T>(signal: AbortSignal, ask: () => Promise<T>): Promise<T> => {
    const aborted = Promise.withResolvers<never>();
    signal.addEventListener('abort', () => aborted.reject(signal.reason as Error), { once: true });
    return Promise.race([ask(), aborted.promise]);
  },
  workflowService: {
    getWorkflowExecutionHistory: async ({ execution }: { execution: { runId: string } }) => {
      await way();
      const run = temporal.past.find(({ runId }) => runId === execution.runId)!;
      const events = [
        { eventId: 1, workflowExecutionStartedEventAttributes: { input: payloadsOf(...run.args) } },
        ...run.beginnings.flatMap((result, index) => {
          const eventId = 2 * index + 2;
          return [
            { eventId, activityTaskScheduledEventAttributes: { activityType: { name: 'beginOperation' } } },
            {
              eventId: eventId + 1,
              activityTaskCompletedEventAttributes: { scheduledEventId: eventId, result: payloadsOf(result) },
            },
          ];
        }),
      ];
      return { history: { events } };
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
});

const payloadsOf = (...values: unknown[]) => ({ payloads: toPayloads(defaultPayloadConverter, ...values) });

const way = (): Promise<void> => new Promise((resolve) => void setTimeout(resolve, timeNow().between(1, 8)));

const notFound = (id: string): Error =>
  Object.assign(new Error(`workflow ${id} not found`), { name: 'WorkflowNotFoundError' });

/** As the client's own: who asks for a run tells it from other errors by its type. */
const unknown = (id: string): Error => new WorkflowNotFoundError(`workflow ${id} not found`, id, undefined);
