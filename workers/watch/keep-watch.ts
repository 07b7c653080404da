import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { Logger } from '@temporalio/worker';
import type { KubeClient } from '../../kubernetes/client.ts';
import { clusterUidOf } from '../../kubernetes/cluster-uid.ts';
import { Trouble } from '../trouble.ts';
import { ClusterNameTaken, ensureWatch } from './cluster-watch.ts';

/** After this long the worker starts a watch again that somebody has terminated. */
const LOOK_AGAIN_MS = 15_000;
const TRY_AGAIN_MS = 1_000;

export interface KeepWatchOptions {
  client: Client;
  kube: Pick<KubeClient, 'get'>;
  /** Drover's name for the cluster. */
  cluster: string;
  logger: Pick<Logger, 'info' | 'warn'>;
  /** Aborted when the process is asked to end. */
  stop: AbortSignal;
}

/**
 * Resolves once the workflow runs that watches this cluster, and no other of the same name, or once the process is
 * asked to end. Returns the cluster's UID, which is asked for if it isn't `known`. Throws `ClusterNameTaken`; waits for
 * servers that don't answer, and for `drover setup`.
 */
export async function untilWatched(options: KeepWatchOptions, known?: string): Promise<string | undefined> {
  const { client, kube, cluster, logger, stop } = options;
  let uid = known;
  const trouble = new Trouble((error) =>
    logger.warn('the watch of the cluster could not be looked at, and is looked at again', { cluster, error }),
  );
  while (!stop.aborted) {
    try {
      uid ??= await clusterUidOf(kube, stop);
      const wasRunning = await ensureWatch(client, { cluster, uid });
      if (!wasRunning) logger.info('the watch of the cluster was started', { cluster });
      return uid;
    } catch (error) {
      if (error instanceof ClusterNameTaken) throw error;
      trouble.lasts(inWords(error));
      await pause(TRY_AGAIN_MS, stop);
    }
  }
  return uid;
}

/**
 * Starts the watch again when somebody has terminated it, until the process is asked to end. Throws `ClusterNameTaken`.
 */
export async function keepWatch(options: KeepWatchOptions, uid: string | undefined): Promise<void> {
  for (;;) {
    await pause(LOOK_AGAIN_MS, options.stop);
    if (options.stop.aborted) return;
    await untilWatched(options, uid);
  }
}

const pause = (ms: number, signal: AbortSignal): Promise<void> => sleep(ms, undefined, { signal }).catch(() => {});

/** Temporal's client says in the cause what the server has said. */
function inWords(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error ? `${message}: ${cause.message}` : message;
}
