import type { ActEnd, BegunAct } from '../../decisions/history/act.ts';
import type { Batch, BatchVm, UpdateOutcome } from '../../decisions/owners/batch.ts';
import type { Journal } from '../history/journal.ts';
import { updateBatchIdOf, type PoolRef } from '../lib/messages.ts';

/** What a pool's workflow has on record of its batches: who updated which VM, and how that ended. */
export class BatchRecords {
  readonly #ref: PoolRef;
  readonly #journal: Journal;

  constructor(ref: PoolRef, journal: Journal) {
    this.#ref = ref;
    this.#journal = journal;
  }

  /** Records that a batch has begun: an act for all of its VMs that are updated alike. */
  begin(batch: Batch, how: Pick<BegunAct, 'requestedBy' | 'reason'>): void {
    for (const vms of Map.groupBy(batch.vms, ({ act, from }) => `${act} ${from}`).values()) {
      const [{ act: action, from }] = vms as [BatchVm];
      const common = { from, to: batch.revision, workflow: this.#workflowOf(batch), ...how };
      this.#journal.begin({ action, vms: vms.map(({ name }) => name), ...common });
    }
  }

  /** Records what a batch says of VMs. Those that it did not begin with leave no record. */
  settle(batch: Batch, outcomes: readonly UpdateOutcome[]): void {
    const workflow = this.#workflowOf(batch);
    const notBegun = outcomes.filter(({ end }) => end === 'NotBegun').map(({ vm }) => vm);
    this.#journal.end({ workflow, vms: notBegun }, null);
    this.#journal.endEach({ workflow }, outcomes);
  }

  /** Records how all VMs of a batch ended of which it has said nothing. */
  end(batch: Batch, how: ActEnd | null): void {
    this.#journal.end({ workflow: this.#workflowOf(batch) }, how);
  }

  #workflowOf({ revision, n }: Batch): string {
    return updateBatchIdOf(this.#ref, revision, n);
  }
}
