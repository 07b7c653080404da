import type { Batch, BatchVm, BatchInput } from '../../decisions/owners/batch.ts';

const RUNS_KEPT = 500;

/**
 * The VMs of batches in flight, as the workflows of pools have told them to this worker: with the first plan after a
 * batch has begun, and with no other. A worker keeps the input of each local activity until the run of its workflow
 * ends: with 250 VMs in each of hundreds of plans, that would be many megabytes for each pool.
 */
export class BatchCache {
  /** By run, the run that was asked about last at the end; then by batch. */
  readonly #byRun = new Map<string, Map<string, BatchVm[]>>();

  /** Returns the batches with their VMs; null if this worker does not know the VMs of one. */
  of(run: string, batches: readonly BatchInput[]): Batch[] | null {
    const before = this.#byRun.get(run);
    this.#byRun.delete(run);
    const whole = batches.flatMap((batch) => {
      const vms = batch.vms ?? before?.get(keyOf(batch));
      return vms === undefined ? [] : [{ ...batch, vms }];
    });
    if (whole.length > 0) this.#byRun.set(run, new Map(whole.map((batch) => [keyOf(batch), batch.vms])));
    for (const oldest of [...this.#byRun.keys()].slice(0, -RUNS_KEPT)) this.#byRun.delete(oldest);
    return whole.length === batches.length ? whole : null;
  }
}

/**
 * With the moment: when Temporal is put back, a run may begin another batch of the same number; and a batch that has
 * said what became of some of its VMs has fewer.
 */
const keyOf = ({ n, revision, startedAt, heardAt }: BatchInput): string => `${n} ${revision} ${startedAt} ${heardAt}`;
