import type { WorkflowHandle } from '@temporalio/client';
import { encodeSearchAttributeIndexedValueType } from '@temporalio/common/lib/search-attributes.js';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import {
  bundleWorkflowCode,
  DefaultLogger,
  Runtime,
  Worker,
  type WorkflowBundleWithSourceMap,
} from '@temporalio/worker';
import { afterEach, beforeAll, beforeEach, expect, vi } from 'vitest';
import { defaultCache } from '../../dev/paths.ts';
import { resolveTestServer } from '../../dev/tools/test-server.ts';
import { workflowsPath } from '../../workers/workflows-path.ts';
import { taskQueueOf, waitQueueOf } from '../../workflows/messages.ts';
import { searchAttributes } from '../../workflows/search-attributes.ts';

/** Temporal gives a server 5 s to answer, which a Java that starts on a busy machine may miss. */
const STARTS = 3;

/**
 * Temporal's Java test server, with what it can't do (1.38.0; temporalio/sdk-java#3088 and others): it lists and counts
 * no workflows; tells a parent nothing of a child that was terminated; wedges a workflow that cancels a timer in the
 * moment in which it fires; holds time up for ever for an activity whose workflow was terminated; answers no query that
 * comes while a run is continued as new.
 */

/**
 * A Temporal of one test whose clock jumps to what is due next, and a worker with drover's own workflows. The clock
 * stands still, but for what passes by itself, until `pass` lets it go on: a week of it takes a moment.
 */
export class TimeSkippingServer {
  readonly #env: TestWorkflowEnvironment;
  readonly #bundle: WorkflowBundleWithSourceMap;
  readonly #workers: { worker: Worker; ended: Promise<void> }[] = [];

  constructor(env: TestWorkflowEnvironment, bundle: WorkflowBundleWithSourceMap) {
    this.#env = env;
    this.#bundle = bundle;
  }

  get client(): TestWorkflowEnvironment['client'] {
    return this.#env.client;
  }

  /**
   * Serves the task queues of the cluster `default` until the test ends, with these in the place of drover's
   * activities.
   */
  async startWorker(activities: object): Promise<void> {
    const taskQueue = taskQueueOf('default');
    const common = { connection: this.#env.nativeConnection, activities };
    const workers = [
      await Worker.create({ ...common, taskQueue, workflowBundle: this.#bundle }),
      await Worker.create({ ...common, taskQueue: waitQueueOf(taskQueue) }),
    ];
    for (const worker of workers) this.#workers.push({ worker, ended: worker.run() });
  }

  /** The server's clock, which is the workflows': milliseconds since the epoch. */
  now(): Promise<number> {
    return this.#env.currentTimeMs();
  }

  /**
   * Lets so much of the workflows' time pass, in milliseconds or as `3d`. An activity that runs holds time up: it
   * passes no faster than it does by itself. What the last moment brings about may still be under way afterwards.
   */
  pass(time: number | `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`): Promise<void> {
    return this.#env.sleep(time);
  }

  /**
   * Awaits the end of a child workflow whose parent's run is over since: this server holds time up until that run has
   * been told, which it never is.
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

/** A server of each test's own: time and what still waits in it are shared by all of a server. */
export function aTimeSkippingServer(): () => TimeSkippingServer {
  let path: string;
  let bundle: WorkflowBundleWithSourceMap;
  let server: TimeSkippingServer | undefined;
  beforeAll(async () => {
    const logger = new DefaultLogger('ERROR');
    Runtime.install({ logger, telemetryOptions: { logging: { filter: 'OFF' } } });
    path = await resolveTestServer({ cache: defaultCache(), onProgress: console.log });
    bundle = await bundleWorkflowCode({ workflowsPath, logger });
  });
  beforeEach(async () => {
    const env = await started(path);
    server = new TimeSkippingServer(env, bundle);
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

/** Awaits that the assertions hold, while the workflows' time stands still. */
export const soon = (assertions: () => Promise<void> | void): Promise<void> =>
  vi.waitFor(assertions, { timeout: 30_000, interval: 50 });
