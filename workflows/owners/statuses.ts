import { sleep } from '@temporalio/workflow';
import type { KnownStatus, StatusRequest } from '../../activities/owners/status.ts';
import { backoffMs } from '../../decisions/lib/backoff.ts';
import type { FailureBackoff } from './failure-backoff.ts';
import type { InFlight } from './in-flight.ts';

/** While VMs come and go, the least time between two writes of the status. */
const GAP_MS = 500;

interface StatusesOptions {
  inProgress: InFlight;
  failureBackoff: FailureBackoff;
  /** Called when another status must be written. */
  onDue: () => void;
}

/** What a workflow knows of the statuses that its plans write, and how soon the next one may. */
export class Statuses {
  readonly #options: StatusesOptions;
  #last = 0;
  #failures = 0;
  /** Writes of the newest status that is known; undefined before the first. */
  #writes: number | undefined;

  constructor(options: StatusesOptions, writes: number | undefined) {
    this.#options = options;
    this.#writes = writes;
  }

  get known(): { writes?: number } {
    return this.#writes === undefined ? {} : { writes: this.#writes };
  }

  /** What is not to be written yet: when VMs have come or gone, or the delay after a failure is over, it may be. */
  get holds(): Pick<StatusRequest, 'holdsStatus'> {
    const { inProgress } = this.#options;
    if (inProgress.has('status')) return { holdsStatus: 'All' };
    const comeAndGo = inProgress.has('creating') || inProgress.has('deleting');
    return comeAndGo && Date.now() - this.#last < GAP_MS ? { holdsStatus: 'Reports' } : {};
  }

  /** Forgets the status of an earlier owner of this name. */
  reset(): void {
    this.#writes = undefined;
  }

  /** Called with what became of the status of a plan. */
  saw({ writes, written: { isWritten, isLate, failed }, isRecorded }: KnownStatus): void {
    const { inProgress, failureBackoff, onDue } = this.#options;
    // Fewer than before, if the API server was restored from a backup: not before what that holds back is on record.
    this.#writes = isRecorded ? writes : Math.max(this.#writes ?? 0, writes);
    if (isWritten === true) {
      this.#last = Date.now();
      this.#failures = 0;
    }
    if (failed !== undefined) {
      failureBackoff.recordError('StatusNotWritten', failed);
      const wait = (): Promise<void> => sleep(backoffMs(++this.#failures));
      void inProgress.run({ kind: 'status', reason: 'wait before the status is written again' }, wait).then(onDue);
    } else if (isLate === true) onDue();
  }
}
