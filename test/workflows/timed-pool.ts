import type { WorkflowHandle } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { expect } from 'vitest';
import type { PoolSpec, RolloutStatus } from '../../api/pool/pool.ts';
import {
  changed,
  poolIdOf,
  progress,
  taskQueueOf,
  updateBatchIdOf,
  type PoolProgress,
} from '../../workflows/messages.ts';
import type { pool } from '../../workflows/pool/pool.ts';
import { FakeCluster } from './fake-cluster.ts';
import { soon, type TimeSkippingServer } from './time-skipping.ts';

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;

export const ref = { cluster: 'default', namespace: 'shop', name: 'web' };

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
  readonly #server: TimeSkippingServer;

  constructor(server: TimeSkippingServer, cluster: FakeCluster) {
    this.#server = server;
    this.cluster = cluster;
    this.workflow = server.client.workflow.getHandle(poolIdOf(ref));
    cluster.onChange = () => this.notify();
  }

  /** Changes fields of the pool's spec, as a person does. */
  async change(spec: Partial<PoolSpec>): Promise<void> {
    this.cluster.change(spec);
    await this.notify();
  }

  /** Makes the workflow plan again, as the watch does. */
  notify(): Promise<void> {
    return this.workflow.signal(changed);
  }

  progress(): Promise<PoolProgress> {
    return this.workflow.query(progress);
  }

  async rollout(): Promise<RolloutStatus> {
    return (await this.progress()).rollout!;
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
    return this.#server.client.workflow.getHandle(updateBatchIdOf(ref, (await this.rollout()).revision, n));
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
  await server.startWorker({ ...cluster.activities, ...others(cluster) });
  await server.client.workflow.start<typeof pool>('pool', {
    workflowId: poolIdOf(ref),
    taskQueue: taskQueueOf('default'),
    args: [ref],
  });
  const timed = new TimedPool(server, cluster);
  await timed.completed();
  return timed;
}
