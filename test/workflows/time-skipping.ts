import { setTimeout } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import type { WorkflowHandle } from '@temporalio/client';
import { encodeSearchAttributeIndexedValueType } from '@temporalio/common/lib/search-attributes.js';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, vi } from 'vitest';
import { defaultCache } from '../../dev/paths.ts';
import { taskQueueOf, waitQueueOf, type PoolRef } from '../../workflows/lib/messages.ts';
import { searchAttributes } from '../../workflows/lib/search-attributes.ts';
import { resolveTestServer } from '../tools/test-server.ts';

/** How often to try to start the server. Temporal gives it 5 s to answer, which Java may miss on a busy machine. */
const STARTS = 24;

/** How long the end of a test may take, in milliseconds of real time. A new server takes about as long to start. */
const END_MS = 3_000;

/**
 * Limitations of Temporal's Java test server (1.38.0; temporalio/sdk-java#3088 and others): it can't list or count
 * workflows; does not tell a parent that its child was terminated; wedges a workflow that cancels a timer at the moment
 * the timer fires; holds time forever for an activity whose workflow was terminated; does not answer a query that
 * arrives while a run continues as new.
 */

/** In milliseconds, or as `3d`. */
type Duration = number | `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`;

/** Activities by their names. */
export type Activities = Record<string, (...args: never[]) => Promise<unknown>>;

/**
 * A Temporal server that skips time, and a worker with drover's own workflows for the cluster `default`. Apart from
 * real time, the clock advances only by `pass`: a week takes a moment.
 */
export class TimeSkippingServer {
  readonly #env: TestWorkflowEnvironment;
  readonly #workers: { worker: Worker; ended: Promise<void> }[] = [];
  #activities: Activities = {};
  #endOfTest: (() => Promise<void>)[] = [];
  #pools = 0;

  private constructor(env: TestWorkflowEnvironment) {
    this.#env = env;
  }

  /** `path`: the server's program. */
  static async start(path: string): Promise<TimeSkippingServer> {
    const env = await started(path);
    const types = searchAttributes.map(({ name, type }) => [name, encodeSearchAttributeIndexedValueType(type)!]);
    await env.connection.operatorService.addSearchAttributes({
      namespace: 'default',
      searchAttributes: Object.fromEntries(types),
    });
    const server = new TimeSkippingServer(env);
    await server.#startWorkers();
    return server;
  }

  async #startWorkers(): Promise<void> {
    const taskQueue = taskQueueOf('default');
    // The worker calls `default` for every activity that it has no function for.
    const activities = {
      default: (...args: never[]) => this.#activities[Context.current().info.activityType]!(...args),
    };
    const common = { connection: this.#env.nativeConnection, activities };
    const workers = [
      await Worker.create({ ...common, taskQueue, workflowBundle: { codePath: inject('programs')!.workflows } }),
      await Worker.create({ ...common, taskQueue: waitQueueOf(taskQueue) }),
    ];
    for (const worker of workers) this.#workers.push({ worker, ended: worker.run() });
  }

  get client(): TestWorkflowEnvironment['client'] {
    return this.#env.client;
  }

  /** Has the worker call these activities from now on. */
  serve(activities: Activities): void {
    this.#activities = activities;
  }

  /** A pool that no other test has. */
  newPool(): PoolRef {
    return { cluster: 'default', namespace: `shop-${++this.#pools}`, name: 'web' };
  }

  /** Calls `end` when the test has passed. It must leave nothing behind that continues in the next test. */
  onEndOfTest(end: () => Promise<void>): void {
    this.#endOfTest.push(end);
  }

  /** Reports whether the server can serve another test: some leave it waiting for what never comes. */
  endTest(): Promise<boolean> {
    const end = async (): Promise<void> => {
      for (const one of this.#endOfTest.splice(0).toReversed()) await one();
      await this.pass('1m');
    };
    const ended = end().then(
      () => true,
      () => false,
    );
    return Promise.race([ended, setTimeout(END_MS, false)]);
  }

  /** The time of the server and of the workflows, in milliseconds since the epoch. */
  now(): Promise<number> {
    return this.#env.currentTimeMs();
  }

  /**
   * Lets this much of the workflows' time pass. While an activity runs, time passes only as fast as real time. The
   * effects of the last moment may still be in progress afterwards.
   */
  pass(time: Duration): Promise<void> {
    return this.#env.sleep(time);
  }

  /** Lets time pass in steps until it is so: one step may be over before a slow worker has set its next timer. */
  async passUntil(isSo: () => boolean, step: Duration): Promise<void> {
    while (!isSo()) await this.pass(step);
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
      // Stays open for calls that have not ended: Temporal's client retries a call by a timer, from which it throws if
      // the connection is closed by then.
      this.#env.connection.close = () => Promise.resolve();
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

/** Starts a server for the tests of a file. A test that fails, or leaves time held, takes it along. */
export function aTimeSkippingServer(): () => TimeSkippingServer {
  let path: string;
  let server: TimeSkippingServer | undefined;
  const end = async (): Promise<void> => {
    const ending = server;
    server = undefined;
    await ending?.end();
  };
  beforeAll(async () => {
    quietRuntime();
    path = await resolveTestServer({ cache: defaultCache(), onProgress: console.log });
  });
  beforeEach(async () => void (server ??= await TimeSkippingServer.start(path)));
  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail' || !(await server!.endTest())) await end();
  });
  afterAll(end);
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

/** Resolves when the assertions hold, while the workflows' time stands still. A busy machine may need minutes. */
export const soon = (assertions: () => Promise<void> | void): Promise<void> =>
  vi.waitFor(assertions, { timeout: 120_000, interval: 50 });
