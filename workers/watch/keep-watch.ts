import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { Logger } from '@temporalio/worker';
import { CLAIM_NAME } from '../../api/claims/claim.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { KubeError } from '../../kubernetes/errors.ts';
import { claimHolderOf, servedUidOf } from '../../kubernetes/served.ts';
import { RepeatedProblem } from '../health/repeated-problem.ts';
import { ClusterNameTaken, endWatchOf, ensureWatch } from './cluster-watch.ts';

/** How soon the worker restarts a watch that someone has terminated. */
const LOOK_AGAIN_MS = 15_000;
/** How soon it ends its work in a namespace that is no longer left to it: others may begin at once. */
const LOOK_AT_CLAIM_MS = 5_000;
const TRY_AGAIN_MS = 1_000;

export interface KeepWatchOptions {
  client: Client;
  kube: Pick<KubeClient, 'get'>;
  /** The name of these workers: drover's for the cluster, or `workersOf` a namespace. */
  cluster: string;
  /** The only namespace that they serve. */
  namespace?: string | undefined;
  /** Into how many shards these workers take the cluster to be divided. */
  shards?: number;
  logger: Pick<Logger, 'info' | 'warn'>;
  /** Aborted when the process is asked to stop. */
  stop: AbortSignal;
}

interface Known {
  /** What these workers serve, if they serve it already: it must not have become another. */
  serving?: string;
  /** UID of the namespace that they served before: the one of its name that is there now has taken its place. */
  replaced?: string | undefined;
}

/**
 * Resolves once the watch workflow runs and watches this cluster, or this namespace, rather than another of the same
 * name, or once the process is asked to stop; returns its UID. Waits for servers that don't answer, and for
 * `drover setup`; a namespace is waited for until it is there, and left to these workers.
 *
 * Throws `ClusterNameTaken` for a cluster, and what `isRefusal` tells if what they serve already is no longer theirs.
 */
export async function waitUntilWatched(options: KeepWatchOptions, known: Known = {}): Promise<string | undefined> {
  const { cluster, namespace, logger, stop } = options;
  const what = namespace === undefined ? 'the cluster is not served' : 'a namespace is not served';
  const problem = new RepeatedProblem((error) =>
    logger.warn(`${what}; retrying`, { cluster, ...(namespace === undefined ? {} : { namespace }), error }),
  );
  while (!stop.aborted) {
    try {
      return await watched(options, known);
    } catch (error) {
      if (isRefusal(error) && (known.serving !== undefined || namespace === undefined)) throw error;
      problem.lasts(asText(error));
      await pause(TRY_AGAIN_MS, stop);
    }
  }
  return undefined;
}

async function watched(
  { client, kube, cluster, namespace, shards, logger, stop }: KeepWatchOptions,
  { serving, replaced }: Known,
): Promise<string> {
  // A cluster stays the same for as long as its API server is there.
  const isKnown = serving !== undefined && namespace === undefined;
  const uid = isKnown ? serving : await uidOf(kube, namespace, stop);
  if (serving !== undefined && uid !== serving)
    throw new NotServed(`namespace ${namespace} was deleted, and another one of its name was made`);
  // Before it is claimed: `drover setup` would take what is watched for another cluster's.
  if (replaced !== undefined && replaced !== uid) await endWatchOf(client, { cluster, uid: replaced });
  if (namespace !== undefined) await ensureClaimed(kube, namespace, cluster);
  // What is served already is served until all of it has moved.
  const ifOther = serving === undefined ? 'Refuse' : 'Leave';
  const wasRunning = await ensureWatch(client, { cluster, namespace, uid }, { shards, ifOther });
  if (!wasRunning) logger.info('the watch was started', { cluster });
  return uid;
}

/** Whether it is not for these workers to serve, rather than that a server does not answer. */
export const isRefusal = (error: unknown): error is Error =>
  error instanceof NotServed || error instanceof ClusterNameTaken;

/** Thrown if a namespace is not, or no longer, these workers' to serve. */
class NotServed extends Error {
  override readonly name = 'NotServed';
}

/** A Role in a namespace goes with it: what is gone can't be told from what may not be read. */
async function uidOf(kube: Pick<KubeClient, 'get'>, namespace: string | undefined, stop: AbortSignal): Promise<string> {
  try {
    return await servedUidOf(kube, namespace, stop);
  } catch (error) {
    if (namespace === undefined || !(error instanceof KubeError) || ![403, 404].includes(error.status)) throw error;
    throw new NotServed(`there is no namespace ${namespace}, or no Role for this worker in it: ${error.message}`);
  }
}

/** Throws `NotServed` unless the namespace is left to the workers of this name: those of the cluster act otherwise. */
async function ensureClaimed(kube: Pick<KubeClient, 'get'>, namespace: string, cluster: string): Promise<void> {
  const holder = await claimHolderOf(kube, namespace);
  if (holder === cluster) return;
  const these = `these are the workers ${cluster}`;
  throw new NotServed(
    holder === undefined
      ? `namespace ${namespace} is not left to its own workers, and ${these}: \`drover setup --only-namespace ${namespace}\` leaves it to them`
      : `namespace ${namespace} is left to the workers ${holder} by its Lease ${CLAIM_NAME}, and ${these}`,
  );
}

/**
 * Restarts the watch if someone has terminated it, until the process is asked to stop. Throws what `isRefusal`
 * tells once another cluster has the name, or the namespace is gone or no longer left to this worker.
 */
export async function keepWatch(options: KeepWatchOptions, serving: string): Promise<void> {
  for (;;) {
    await pause(options.namespace === undefined ? LOOK_AGAIN_MS : LOOK_AT_CLAIM_MS, options.stop);
    if (options.stop.aborted) return;
    await waitUntilWatched(options, { serving });
  }
}

const pause = (ms: number, signal: AbortSignal): Promise<void> => sleep(ms, undefined, { signal }).catch(() => {});

/** Temporal's client puts what the server said into the error's cause. */
function asText(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error ? `${message}: ${cause.message}` : message;
}
