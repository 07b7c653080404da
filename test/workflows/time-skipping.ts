import type { WorkflowHandle } from '@temporalio/client';
import { encodeSearchAttributeIndexedValueType } from '@temporalio/common/lib/search-attributes.js';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { afterEach, beforeAll, beforeEach, expect, inject, vi } from 'vitest';
import { defaultCache } from '../../dev/paths.ts';
import { resolveTestServer } from '../../dev/tools/test-server.ts';
import { taskQueueOf, waitQueueOf } from '../../workflows/messages.ts';
import { searchAttributes } from '../../workflows/search-attributes.ts';

/** How often to try to start the server. Temporal gives it 5 s to answer, which Java may miss on a busy machine. */
const STARTS = 24;

/**
 * Limitations of Temporal's Java test server (1.38.0; temporalio/sdk-java#3088 and others): it can't list or count
 * workflows; does not tell a parent that its child was terminated; wedges a workflow that cancels a timer at the moment
 * the timer fires; holds time forever for an activity whose workflow was terminated; does not answer a query that
 * arrives while a run continues as new.
 */

/**
 * A Temporal server for one test that skips time, and a worker with drover's own workflows. Apart from real time, the
 * clock advances only by `pass`: a week takes a moment.
 */
export class TimeSkippingServer {
  readonly #env: TestWorkflowEnvironment;
  readonly #workers: { worker: Worker; ended: Promise<void> }[] = [];

  constructor(env: TestWorkflowEnvironment) {
    this.#env = env;
  }

  get client(): TestWorkflowEnvironment['client'] {
    return this.#env.client;
  }

  /** Serves the task queues of the cluster `default` until the test ends, with `activities` instead of drover's own. */
  async startWorker(activities: object): Promise<void> {
    const taskQueue = taskQueueOf('default');
    const common = { connection: this.#env.nativeConnection, activities };
    const workers = [
      await Worker.create({ ...common, taskQueue, workflowBundle: { codePath: inject('programs')!.workflows } }),
      await Worker.create({ ...common, taskQueue: waitQueueOf(taskQueue) }),
    ];
    for (const worker of workers) this.#workers.push({ worker, ended: worker.run() });
  }

  /** The time of the server and of the workflows, in milliseconds since the epoch. */
  now(): Promise<number> {
    return this.#env.currentTimeMs();
  }

  /**
   * Lets this much of the workflows' time pass: in milliseconds, or as `3d`. While an activity runs, time passes only
   * as fast as real time. The effects of the last moment may still be in progress afterwards.
   */
  pass(time: number | `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`): Promise<void> {
    return this.#env.sleep(time);
  }

  /**
   * Resolves when a child workflow has ended whose parent run is already closed. The server holds time until that run
   * has been told, which never happens, so this unlocks time.
   */
  async orphanEnded(child: WorkflowHandle): Promise<void> {
    await soon(async () => expect((await child.describe()).status.name).not.toBe('RUNNING'));
    await this.#env.connection.testService?.unlockTimeSkipping({});
  }

  async end(): Promise<void> {
    try {
      for (const { worker } of this.#workers) worker.shutdown();
      await Promise.all(this.#workers.map(({ ended }) => ended));
    } finally {
      await this.#env.teardown();
    }
  }
}

let isQuiet = false;

/** A process has one runtime of Temporal's core, which says nothing here. */
function quietRuntime(): void {
  if (isQuiet) return;
  isQuiet = true;
  const logger = new DefaultLogger('ERROR');
  Runtime.install({ logger, telemetryOptions: { logging: { filter: 'OFF' } } });
}

/** Starts a server per test: all tests on one server would share its time and its pending work. */
export function aTimeSkippingServer(): () => TimeSkippingServer {
  let path: string;
  let server: TimeSkippingServer | undefined;
  beforeAll(async () => {
    quietRuntime();
    path = await resolveTestServer({ cache: defaultCache(), onProgress: console.log });
  });
  beforeEach(async () => {
    const env = await started(path);
    server = new TimeSkippingServer(env);
    const types = searchAttributes.map(({ name, type }) => [name, encodeSearchAttributeIndexedValueType(type)!]);
    await env.connection.operatorService.addSearchAttributes({
      namespace: 'default',
      searchAttributes: Object.fromEntries(types),
    });
  });
  afterEach(async () => {
    await server?.end();
    server = undefined;
  });
  return () => server!;
}

async function started(path: string): Promise<TestWorkflowEnvironment> {
  for (let tries = 1; ; tries++) {
    try {
      return await TestWorkflowEnvironment.createTimeSkipping({
        server: { executable: { type: 'existing-path', path } },
      });
    } catch (error) {
      if (tries === STARTS) throw error;
    }
  }
}

/** Resolves when the assertions hold, while the workflows' time stands still. */
export const soon = (assertions: () => Promise<void> | void): Promise<void> =>
  vi.waitFor(assertions, { timeout: 30_000, interval: 50 });
