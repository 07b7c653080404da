import { continueAsNew, proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { WatchActivities } from '../../activities/watch/watch.ts';
import { WAIT_RETRY, watchQueue } from '../lib/queues.ts';

interface WatchInput {
  cluster: string;
}

const watching = () =>
  proxyActivities<WatchActivities>({
    taskQueue: watchQueue(),
    startToCloseTimeout: '24h',
    // How long the watch of a dead worker takes to move to another.
    heartbeatTimeout: '10s',
    retry: WAIT_RETRY,
  });

/**
 * Watches one cluster for as long as drover is set up in it: one activity on one worker, which Temporal moves to
 * another when its worker dies. It signals the workflow of each object that something happened to.
 */
export async function watch(input: WatchInput): Promise<void> {
  setCurrentDetails(`Watches the pools and VMs of cluster **${input.cluster}**, and signals their workflows.`);
  await watching().watchCluster(input);
  await continueAsNew<typeof watch>(input);
}
