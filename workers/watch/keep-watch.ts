import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { Logger } from '@temporalio/worker';
import type { KubeClient } from '../../kubernetes/client.ts';
import { clusterUidOf } from '../../kubernetes/cluster-uid.ts';
import { RepeatedProblem } from '../repeated-problem.ts';
import { ClusterNameTaken, ensureWatch } from './cluster-watch.ts';

/** How soon the worker restarts a watch that someone has terminated. */
const LOOK_AGAIN_MS = 15_000;
const TRY_AGAIN_MS = 1_000;

export interface KeepWatchOptions {
  client: Client;
  kube: Pick<KubeClient, 'get'>;
  /** Drover's name for the cluster. */
  cluster: string;
  logger: Pick<Logger, 'info' | 'warn'>;
  /** Aborted when the process is asked to stop. */
  stop: AbortSignal;
}

/**
 * Resolves once the watch workflow runs and watches this cluster rather than another of the same name, or once the
 * process is asked to stop. Returns the cluster's UID, which is looked up if it isn't `known`. Throws
 * `ClusterNameTaken`; waits for servers that don't answer, and for `drover setup`.
 */
export async function waitUntilWatched(options: KeepWatchOptions, known?: string): Promise<string | undefined> {
  const { client, kube, cluster, logger, stop } = options;
  let uid = known;
  const problem = new RepeatedProblem((error) =>
    logger.warn('the watch workflow could not be described; retrying', { cluster, error }),
  );
  while (!stop.aborted) {
    try {
      uid ??= await clusterUidOf(kube, stop);
      const wasRunning = await ensureWatch(client, { cluster, uid });
      if (!wasRunning) logger.info('the watch of the cluster was started', { cluster });
      return uid;
    } catch (error) {
      if (error instanceof ClusterNameTaken) throw error;
      problem.lasts(inWords(error));
      await pause(TRY_AGAIN_MS, stop);
    }
  }
  return uid;
}

/** Restarts the watch if someone has terminated it, until the process is asked to stop. Throws `ClusterNameTaken`. */
export async function keepWatch(options: KeepWatchOptions, uid: string | undefined): Promise<void> {
  for (;;) {
    await pause(LOOK_AGAIN_MS, options.stop);
    if (options.stop.aborted) return;
    await waitUntilWatched(options, uid);
  }
}

const pause = (ms: number, signal: AbortSignal): Promise<void> => sleep(ms, undefined, { signal }).catch(() => {});

/** Temporal's client puts what the server said into the error's cause. */
function inWords(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error ? `${message}: ${cause.message}` : message;
}
