import type { WorkflowHandle } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { tsToMs } from '@temporalio/common/lib/time.js';
import { expect } from 'vitest';
import type { PoolSpec, RolloutStatus } from '../../api/pool/pool.ts';
import type { healVm } from '../../workflows/healing/heal-vm.ts';
import {
  changed,
  poolIdOf,
  progress,
  taskQueueOf,
  updateBatchIdOf,
  type PoolProgress,
  type PoolRef,
} from '../../workflows/lib/messages.ts';
import type { pool } from '../../workflows/pool/pool.ts';
import { FakeCluster } from './fake-cluster.ts';
import { soon, type TimeSkippingServer } from './time-skipping.ts';

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;

/** A template of running VMs. Another mark makes another revision, which takes a restart. */
export const template = (mark: string): PoolSpec['template'] => ({
  spec: { runStrategy: 'Always', template: { spec: { hostname: mark, domain: {} } } },
});

/** Temporal suggests to continue as new at four megabytes of history: three signals of this size suffice. */
const FILLING = 'x'.repeat(1_500_000);
const FILLINGS = 3;

/** A pool whose workflow runs on the time-skipping server. */
export class TimedPool {
  readonly cluster: FakeCluster;
  readonly workflow: WorkflowHandle<typeof pool>;
  readonly ref: PoolRef;
  readonly #server: TimeSkippingServer;

  constructor(server: TimeSkippingServer, cluster: FakeCluster) {
    this.#server = server;
    this.ref = server.newPool();
    this.cluster = cluster;
    this.workflow = server.client.workflow.getHandle(poolIdOf(this.ref));
    cluster.onChange = () => this.notify();
  }

  /** Changes fields of the pool's spec, as a user does. */
  async change(spec: Partial<PoolSpec>): Promise<void> {
    this.cluster.change(spec);
    await this.notify();
  }

  /** Makes a request of the pool, as a user does. */
  async request({ annotations }: { annotations: Record<string, string> }): Promise<void> {
    this.cluster.annotate(annotations);
    await this.notify();
  }

  /** Deletes the pool, and resolves when its workflow has ended. */
  async delete(): Promise<void> {
    this.#server.serve({ ...this.cluster.activities, plan: () => Promise.resolve({ gone: true }) });
    await this.notify();
    // Awaiting its result would skip time, just when the workflow may cancel a timer.
    await soon(async () => expect((await this.workflow.describe()).status.name).not.toBe('RUNNING'));
  }

  /** Makes the workflow plan again, as the watch does. */
  notify(): Promise<void> {
    return this.workflow.signal(changed);
  }

  progress(): Promise<PoolProgress> {
    return this.workflow.query(progress);
  }

  async rollout(): Promise<RolloutStatus> {
    return this.cluster.pool.status!.rollout!;
  }

  /** Resolves when the rollout of the template is complete, while time stands still. */
  completed(): Promise<void> {
    return soon(async () => expect((await this.rollout()).completedAt).toBeDefined());
  }

  /**
   * Starts a rollout whose first batch is held before it touches any VM. `goOn` releases it; `fail` makes its workflow
   * fail without a message to the pool's workflow.
   */
  async heldBatch(): Promise<{ workflow: WorkflowHandle; goOn: () => void; fail: () => void }> {
    const { cluster } = this;
    const way = Promise.withResolvers<void>();
    cluster.inTheWay = way.promise;
    await this.change({ template: template('two') });
    await soon(() => expect(cluster.times('update')).toHaveLength(1));
    await soon(async () => expect((await this.progress()).updating).toHaveLength(1));
    const workflow = await this.batch(1);
    return {
      workflow,
      goOn: () => {
        cluster.inTheWay = null;
        way.resolve();
      },
      fail: () => {
        cluster.inTheWay = null;
        way.reject(ApplicationFailure.nonRetryable('out of the blue'));
      },
    };
  }

  /** The workflow of a batch of the rollout. */
  async batch(n: number): Promise<WorkflowHandle> {
    return this.#server.client.workflow.getHandle(updateBatchIdOf(this.ref, (await this.rollout()).revision, n));
  }

  /** Starts a workflow under this ID: an attempt for an earlier pool of this name, which waits for a day. */
  async takeWorkflowId(workflowId: string): Promise<WorkflowHandle> {
    const delay = { initial: '1d', factor: 1, max: '1d', jitter: 0 };
    const sick = {
      name: 'web-4',
      uid: 'uid-of-web-4',
      attempt: 1,
      message: 'it was sick',
      rules: { backoff: delay, maxAttempts: null },
      mayHaveData: true,
      earlyExits: 0,
    };
    const startedAt = '2020-01-01T00:00:00.000Z';
    const nextAt = new Date((await this.#server.now()) + 24 * HOUR).toISOString();
    const { namespace, name } = this.ref;
    const workflow = await this.#server.client.workflow.start<typeof healVm>('healVm', {
      workflowId,
      taskQueue: taskQueueOf('default'),
      args: [
        {
          ref: this.ref,
          key: { namespace, name, uid: 'an-earlier-pool' },
          attempt: { unhealthyVm: sick, startedAt, removed: { nextAt, keptDisks: false }, skipDelay: false },
        },
      ],
    });
    this.#server.onEndOfTest(async () => {
      if ((await workflow.describe()).status.name === 'RUNNING') await workflow.terminate();
    });
    return workflow;
  }

  /** For each time that the run scheduled this activity, how long the timers after it were set for: milliseconds. */
  async timersAfterEach(activity: string): Promise<number[][]> {
    const after: number[][] = [];
    const { events } = await this.workflow.fetchHistory();
    for (const { activityTaskScheduledEventAttributes: scheduled, timerStartedEventAttributes: timer } of events ??
      []) {
      if (scheduled?.activityType?.name === activity) after.push([]);
      if (timer) after.at(-1)?.push(tsToMs(timer.startToFireTimeout));
    }
    return after;
  }

  /** Milliseconds of all timers so far. */
  async timers(): Promise<number[]> {
    const { events } = await this.workflow.fetchHistory();
    return (events ?? []).flatMap(({ timerStartedEventAttributes: timer }) =>
      timer ? [tsToMs(timer.startToFireTimeout)] : [],
    );
  }

  async runId(): Promise<string> {
    return (await this.workflow.describe()).runId;
  }

  /** Makes the history so long that the workflow continues as new as soon as it can. */
  async fillHistory(): Promise<void> {
    // A signal with an extra argument, which the workflow ignores.
    await Promise.all(Array.from({ length: FILLINGS }, () => this.workflow.signal<unknown[]>('changed', {}, FILLING)));
  }

  /** Resolves when another run has replaced this one. */
  continued(runId: string): Promise<void> {
    return soon(async () => expect(await this.runId()).not.toBe(runId));
  }
}

/**
 * Starts the workflow of a pool whose VMs all exist and are ready. `others`: activities that replace or extend the
 * cluster's.
 */
export async function aTimedPool(
  server: TimeSkippingServer,
  spec: Partial<PoolSpec> = {},
  others: (cluster: FakeCluster) => object = () => ({}),
): Promise<TimedPool> {
  const cluster = new FakeCluster({ replicas: 4, template: template('one'), ...spec }, await server.now());
  const timed = new TimedPool(server, cluster);
  server.serve({ ...cluster.activities, ...others(cluster) });
  const { ref } = timed;
  await server.client.workflow.start<typeof pool>('pool', {
    workflowId: poolIdOf(ref),
    taskQueue: taskQueueOf('default'),
    args: [ref],
  });
  server.onEndOfTest(() => timed.delete());
  await timed.completed();
  return timed;
}
