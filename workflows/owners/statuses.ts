import { sleep } from '@temporalio/workflow';
import type { KnownStatus } from '../../activities/owners/status.ts';
import { backoffMs } from '../../decisions/lib/backoff.ts';
import type { FailureBackoff } from './failure-backoff.ts';
import type { InFlight } from './in-flight.ts';

/** While VMs come and go, the least time between two writes of the status. */
const GAP_MS = 500;
/** The pool contradicts this workflow's state, so any status takes precedence. */
export const KNOWS_NOTHING = -1;

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

  /** When VMs have come or gone, or the delay after a failed write is over, another turn begins. */
  get isHeld(): boolean {
    const { inProgress } = this.#options;
    const comeAndGo = inProgress.has('creating') || inProgress.has('deleting');
    return inProgress.has('status') || (comeAndGo && Date.now() - this.#last < GAP_MS);
  }

  /** Forgets the status of an earlier owner of this name. */
  reset(): void {
    this.#writes = undefined;
  }

  /** Called with what became of the status of a plan. */
  saw({ writes, written: { isWritten, isLate, refused, failed } }: KnownStatus): void {
    const { inProgress, failureBackoff, onDue } = this.#options;
    this.#writes = refused === undefined ? Math.max(this.#writes ?? 0, writes) : KNOWS_NOTHING;
    if (isWritten === true) {
      this.#last = Date.now();
      this.#failures = 0;
    }
    const message = refused ?? failed;
    if (message !== undefined) {
      failureBackoff.recordError('StatusNotWritten', message);
      const wait = (): Promise<void> => sleep(backoffMs(++this.#failures));
      void inProgress.run({ kind: 'status', reason: 'wait before the status is written again' }, wait).then(onDue);
    } else if (isLate === true) onDue();
  }
}
