import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { WorkflowHandle } from '@temporalio/client';
import { TerminatedFailure } from '@temporalio/common';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime, type Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ReplayingWorker } from '../../workers/replaying-worker.ts';
import { aFleet, until } from '../integration/fleet.ts';
import { finish } from './replayed/finish.ts';

const fleet = aFleet({ simulator: false, workers: 0 });

const logger = new DefaultLogger('ERROR');
let connection: NativeConnection;
beforeAll(async () => {
  Runtime.install({ logger, telemetryOptions: { logging: { filter: 'OFF' } } });
  connection = await NativeConnection.connect({ address: fleet().stack.temporalAddress });
});
afterAll(() => connection.close());

const TASK_TIMEOUT = '1s';
const POLL_MS = 10_000;

/** Creates a worker of a release that has this workflow. */
async function aWorker(taskQueue: string, release: 'with-timer' | 'without-timer' | 'failing'): Promise<Worker> {
  const workflowsPath = join(import.meta.dirname, 'replayed', `${release}.ts`);
  return ReplayingWorker.create({
    connection,
    namespace: fleet().temporal.client.options.namespace,
    taskQueue,
    workflowBundle: await bundleWorkflowCode({ workflowsPath, logger }),
    workflowFailureErrorTypes: { '*': ['NondeterminismError'] },
  });
}

/** Starts a run and has it continued by a worker with a timer, which then loses so many tasks. */
async function withLostTasks(count: number): Promise<{ taskQueue: string; run: WorkflowHandle }> {
  const { client, connection: toServer } = fleet().temporal;
  const taskQueue = randomUUID();
  const run = await client.workflow.start('replayed', {
    taskQueue,
    workflowId: taskQueue,
    workflowTaskTimeout: TASK_TIMEOUT,
  });
  const hasTimer = async (): Promise<void> => {
    const { events = [] } = await run.fetchHistory();
    expect(events?.some(({ timerStartedEventAttributes }) => timerStartedEventAttributes)).toBe(true);
  };
  await (await aWorker(taskQueue, 'with-timer')).runUntil(until(hasTimer));
  await run.signal(finish);
  const poll = { namespace: client.options.namespace, taskQueue: { name: taskQueue }, identity: 'lost' };
  for (let lost = 0; lost < count;) {
    const { taskToken } = await toServer.withDeadline(Date.now() + POLL_MS, () =>
      toServer.workflowService.pollWorkflowTaskQueue(poll),
    );
    if (taskToken.length > 0) lost++;
  }
  return { taskQueue, run };
}

describe('after a worker was lost with a task', () => {
  test('a worker that cannot replay the run terminates it', async () => {
    const { taskQueue, run } = await withLostTasks(1);
    const result = (await aWorker(taskQueue, 'without-timer')).runUntil(run.result());
    await expect(result).rejects.toMatchObject({ cause: expect.any(TerminatedFailure) as unknown });
    const { events } = await run.fetchHistory();
    const { reason } = events!.at(-1)!.workflowExecutionTerminatedEventAttributes!;
    expect(reason).toMatch(/^Nondeterminism error: .*TimerStarted/);
  });

  test('a worker that can replay the run continues it, though more tasks were lost and others failed', async () => {
    const { taskQueue, run } = await withLostTasks(2);
    const hasFailed = async (): Promise<void> =>
      expect((await run.describe()).raw.pendingWorkflowTask?.attempt).toBeGreaterThan(4);
    await (await aWorker(taskQueue, 'failing')).runUntil(until(hasFailed));
    await (await aWorker(taskQueue, 'with-timer')).runUntil(run.result());
  });
});
