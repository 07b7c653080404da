import { continueAsNew, proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { WatchActivities } from '../../activities/watch/watch.ts';
import { portionsOf, type Portion } from '../../decisions/shards/portion.ts';
import { taskQueueOf, watchQueueOf } from '../lib/messages.ts';
import { WAIT_RETRY } from '../lib/queues.ts';

interface WatchInput {
  cluster: string;
  /** Into how many its namespaces are divided; 1 if left out. */
  shards?: number;
}

const watching = (cluster: string, portion: Portion) =>
  proxyActivities<WatchActivities>({
    taskQueue: watchQueueOf(taskQueueOf(cluster, portion)),
    startToCloseTimeout: '24h',
    // How long the watch of a dead worker takes to move to another.
    heartbeatTimeout: '10s',
    retry: WAIT_RETRY,
  });

/**
 * Watches one cluster for as long as drover is set up in it: one activity on one worker, and one for each shard, which
 * Temporal moves to another when its worker dies. It signals the workflow of each object that something happened to.
 */
export async function watch(input: WatchInput): Promise<void> {
  setCurrentDetails(`Watches the pools and VMs of cluster **${input.cluster}**, and signals their workflows.`);
  const { cluster, shards = 1 } = input;
  await Promise.race(
    portionsOf(shards).map((portion) =>
      watching(cluster, portion).watchCluster(shards === 1 ? { cluster } : { cluster, portion }),
    ),
  );
  await continueAsNew<typeof watch>(input);
}
