import type { Client } from '@temporalio/client';

/** A batch or an attempt of a pool, as it was when it ended without a word. */
export interface LostChild {
  workflowId: string;
  runId: string;
  /** Milliseconds since the epoch, by Temporal's clock. */
  endedAt: number;
}

/** How the workflows of pools hear that a workflow that they have started was ended from outside. */
export interface ChildSignals {
  /** Returns those of the cluster that were terminated or cancelled, have failed or timed out since then. */
  lost: (client: Client, cluster: string, since: number) => Promise<LostChild[]>;
  /** Returns the namespace of its pool. */
  poolNamespace: (child: LostChild) => string;
  /** Tells the workflow of its pool, if that runs. */
  notifyPool: (client: Client, child: LostChild) => Promise<void>;
}

/** Of workflows that ended longer ago, a pool has found out by itself, or their ends were told. */
const LOOK_BACK_MS = 20 * 60_000;

/**
 * Returns a look for batches and attempts that were ended from outside, which tells their pools. The run of a pool that
 * has started one hears of its end at once, but the runs after that don't.
 */
export function lookForLostChildren(
  client: Client,
  cluster: string,
  { lost, poolNamespace, notifyPool }: ChildSignals,
  isWatched: (namespace: string) => boolean,
): () => Promise<void> {
  let notified = new Set<string>();
  return async () => {
    const children = await lost(client, cluster, Date.now() - LOOK_BACK_MS);
    notified = new Set(children.map(({ runId }) => runId).filter((runId) => notified.has(runId)));
    for (const child of children) {
      if (notified.has(child.runId) || !isWatched(poolNamespace(child))) continue;
      await notifyPool(client, child);
      notified.add(child.runId);
    }
  };
}
