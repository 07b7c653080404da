import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { Logger } from '@temporalio/worker';
import { CLAIM_NAME } from '../../api/claim.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { claimHolderOf, servedUidOf } from '../../kubernetes/served.ts';
import { RepeatedProblem } from '../health/repeated-problem.ts';
import { ClusterNameTaken, ensureWatch } from './cluster-watch.ts';

/** How soon the worker restarts a watch that someone has terminated. */
const LOOK_AGAIN_MS = 15_000;
const TRY_AGAIN_MS = 1_000;

export interface KeepWatchOptions {
  client: Client;
  kube: Pick<KubeClient, 'get'>;
  /** Drover's name for the cluster. */
  cluster: string;
  /** The only namespace that is served. */
  namespace?: string | undefined;
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
  const { client, kube, cluster, namespace, logger, stop } = options;
  let uid = known;
  const problem = new RepeatedProblem((error) =>
    logger.warn('the watch workflow could not be described; retrying', { cluster, error }),
  );
  while (!stop.aborted) {
    try {
      uid ??= await servedUidOf(kube, namespace, stop);
      if (namespace !== undefined) await ensureClaimed(kube, namespace, cluster);
      const wasRunning = await ensureWatch(client, { cluster, namespace, uid });
      if (!wasRunning) logger.info('the watch of the cluster was started', { cluster });
      return uid;
    } catch (error) {
      if (error instanceof ClusterNameTaken || (error instanceof Unclaimed && known !== undefined)) throw error;
      problem.lasts(inWords(error));
      await pause(TRY_AGAIN_MS, stop);
    }
  }
  return uid;
}

/** A worker of one namespace acts only while the namespace is left to it: the workers of the cluster act otherwise. */
class Unclaimed extends Error {
  override readonly name = 'Unclaimed';
}

/** Throws `Unclaimed` unless the namespace is left to the workers of this name. */
async function ensureClaimed(kube: Pick<KubeClient, 'get'>, namespace: string, cluster: string): Promise<void> {
  const holder = await claimHolderOf(kube, namespace);
  if (holder === cluster) return;
  const whose = holder === undefined ? 'not claimed' : `claimed for ${holder}`;
  throw new Unclaimed(
    `namespace ${namespace} is ${whose} (Lease ${CLAIM_NAME}), and these are the workers of ${cluster}: \`drover setup --only-namespace ${namespace} --cluster ${cluster}\` claims it`,
  );
}

/**
 * Restarts the watch if someone has terminated it, until the process is asked to stop. Throws `ClusterNameTaken`, and
 * `Unclaimed` if the namespace is no longer left to this worker.
 */
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
