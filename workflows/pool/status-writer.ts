import { CancelledFailure, sleep } from '@temporalio/workflow';
import type { PoolKey } from '../../activities/pool/types.ts';
import type { PoolStatus } from '../../api/pool/pool.ts';
import { backoffMs } from '../../decisions/lib/backoff.ts';
import type { Seen } from '../../decisions/lib/resource-versions.ts';
import { summary } from '../../decisions/lib/summary.ts';
import type { InFlight } from './in-flight.ts';
import type { Setbacks } from './setbacks.ts';
import { writeStatus } from './steps.ts';

/** While VMs come and go, the status is not written more often than this. */
const GAP_MS = 500;

export interface StatusWriterOptions {
  underWay: InFlight;
  setbacks: Setbacks;
  /**
   * Told when a status has been written, and whether another has to be made: one was held back meanwhile, or this one
   * came late.
   */
  onWritten: (seen: Seen, isDue: boolean) => void;
}

/** Writes a pool's status beside the turns, one at a time; what it holds back, a later turn brings again. */
export class StatusWriter {
  readonly #options: StatusWriterOptions;
  #last = 0;
  #failures = 0;
  #isDue = false;

  constructor(options: StatusWriterOptions) {
    this.#options = options;
  }

  /** A turn has found that the status it saw says all: of one that is still being written that may not be true. */
  keep(): void {
    this.#isDue ||= this.#options.underWay.has('status');
  }

  write(key: PoolKey, status: PoolStatus): void {
    const { underWay, onWritten } = this.#options;
    // The end of each of these brings another turn, and with it the status that was held back; no other end does.
    const comeAndGo = underWay.has('creating') || underWay.has('deleting');
    const tooSoon = comeAndGo && Date.now() - this.#last < GAP_MS;
    this.#isDue = tooSoon || underWay.has('status');
    if (this.#isDue) return;
    this.#last = Date.now();
    void underWay.run({ kind: 'status', reason: 'write the status' }, async () => {
      const words = {
        summary: summary(`write the status: ${status.readyReplicas ?? 0} of ${status.replicas ?? 0} VMs ready`),
      };
      const written = await writeStatus
        .executeWithOptions(words, [key, status])
        .catch((error: Error) => this.#failed(error));
      if (written === undefined) return onWritten({}, true);
      this.#failures = 0;
      const { isLate = false, ...seen } = written;
      onWritten(seen, this.#isDue || isLate);
    });
  }

  /** Resolves when it may be tried again. */
  async #failed(error: Error): Promise<undefined> {
    if (error instanceof CancelledFailure) throw error;
    this.#options.setbacks.note('StatusNotWritten', error.message);
    await sleep(backoffMs(++this.#failures));
  }
}
