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
  /** Tells the workflow of its pool, if that runs. */
  tell: (client: Client, child: LostChild) => Promise<void>;
}

/** Of workflows that ended longer ago, a pool has found out by itself, or their ends were told. */
const LOOK_BACK_MS = 20 * 60_000;

/**
 * Finds batches and attempts that were ended from outside, one look at a time. The run of a pool that has started one
 * hears of its end at once, but the runs after that don't.
 */
export class LostChildrenLook {
  readonly #client: Client;
  readonly #cluster: string;
  readonly #signals: ChildSignals;
  readonly #onFailure: (error: Error) => void;
  #told = new Set<string>();
  #isLooking = false;

  constructor(client: Client, cluster: string, signals: ChildSignals, onFailure: (error: Error) => void) {
    this.#client = client;
    this.#cluster = cluster;
    this.#signals = signals;
    this.#onFailure = onFailure;
  }

  async look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      const lost = await this.#signals.lost(this.#client, this.#cluster, Date.now() - LOOK_BACK_MS);
      this.#told = new Set(lost.map(({ runId }) => runId).filter((runId) => this.#told.has(runId)));
      for (const child of lost) {
        if (this.#told.has(child.runId)) continue;
        await this.#signals.tell(this.#client, child);
        this.#told.add(child.runId);
      }
    } catch (error) {
      this.#onFailure(error as Error);
    } finally {
      this.#isLooking = false;
    }
  }
}
