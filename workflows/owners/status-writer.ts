import { CancelledFailure, proxyActivities, sleep } from '@temporalio/workflow';
import type { OwnerKey } from '../../activities/owners/owner-key.ts';
import type { PoolActivities } from '../../activities/pool/pool.ts';
import { OWNER_KINDS, type VmOwnerKind } from '../../api/owner-kinds.ts';
import type { PoolStatus } from '../../api/pool/pool.ts';
import type { ReplicaSetStatus } from '../../api/replica-set/replica-set.ts';
import { backoffMs } from '../../decisions/lib/backoff.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { summary } from '../../decisions/lib/summary.ts';
import type { OwnerEvent } from '../../decisions/owners/events.ts';
import type { FailureBackoff } from './failure-backoff.ts';
import type { InFlight } from './in-flight.ts';
import { MANY_WRITES } from './steps.ts';

const { writeStatus } = proxyActivities<PoolActivities>(MANY_WRITES);

/** While VMs come and go, the least time between two writes of the status. */
const GAP_MS = 500;
/** The pool contradicts this workflow's state, so any status takes precedence. */
export const KNOWS_NOTHING = -1;

export interface StatusWriterOptions {
  /** Of the owner. */
  kind: VmOwnerKind;
  inProgress: InFlight;
  failureBackoff: FailureBackoff;
  /**
   * Called when a write has ended. `isDue`: another status must be written, because one was held back meanwhile, or
   * this one was late or failed.
   */
  onWritten: (minVersions: ResourceVersions, isDue: boolean) => void;
}

/** The status that a plan has found. */
interface NewStatus {
  /** Of the owner. */
  key: OwnerKey;
  status: PoolStatus | ReplicaSetStatus;
  /** What the status says that the one before did not. */
  events: OwnerEvent[];
  /** What the plan has seen. */
  minVersions: ResourceVersions;
}

/** Writes an owner's status in parallel with the turns, one write at a time. A later turn writes what was held back. */
export class StatusWriter {
  readonly #options: StatusWriterOptions;
  #last = 0;
  #failures = 0;
  #isDue = false;
  /** Writes of the newest status that is known; undefined before the first. */
  #writes: number | undefined;

  constructor(options: StatusWriterOptions, writes: number | undefined) {
    this.#options = options;
    this.#writes = writes;
  }

  /** Writes of the newest status that this workflow has seen or begun to write; none before the first. */
  get known(): { writes?: number } {
    return this.#writes === undefined ? {} : { writes: this.#writes };
  }

  /**
   * Called with the writes of a status that a plan has seen. `requestedWith`: the writes in the request for the plan.
   * Returns false if the pool contradicts what the plan was made from: its status may not be written.
   */
  saw(writes: number, requestedWith: number | undefined): boolean {
    if (this.#writes === KNOWS_NOTHING && requestedWith !== KNOWS_NOTHING) return false;
    this.#writes = Math.max(this.#writes ?? 0, writes);
    return true;
  }

  /** Forgets the status of an earlier owner of this name. */
  reset(): void {
    this.#writes = undefined;
  }

  /**
   * Called when a turn found that the status it saw needs no change. That may be untrue of a status still being
   * written.
   */
  keep(): void {
    this.#isDue ||= this.#options.inProgress.has('status');
  }

  write({ key, status, events, minVersions: seen }: NewStatus): void {
    const { kind, inProgress, onWritten } = this.#options;
    const { noun } = OWNER_KINDS[kind].members;
    // When these end, another turn begins, and writes the status that was held back here.
    const comeAndGo = inProgress.has('creating') || inProgress.has('deleting');
    const tooSoon = comeAndGo && Date.now() - this.#last < GAP_MS;
    this.#isDue = tooSoon || inProgress.has('status');
    if (this.#isDue) return;
    this.#last = Date.now();
    this.#writes = Math.max(this.#writes ?? 0, status.writes ?? 0);
    void inProgress.run({ kind: 'status', reason: 'write the status' }, async () => {
      const options = {
        summary: summary(`write the status: ${status.readyReplicas ?? 0} of ${status.replicas ?? 0} ${noun}s ready`),
      };
      const written = await writeStatus
        .executeWithOptions(options, [key, status, events, seen])
        .catch((error: Error) => this.#failed(error));
      if (written === undefined) return onWritten({}, true);
      const { isLate = false, refused, ...minVersions } = written;
      if (refused !== undefined) {
        this.#writes = KNOWS_NOTHING;
        await this.#failed(new Error(refused));
      } else this.#failures = 0;
      onWritten(minVersions, this.#isDue || isLate || refused !== undefined);
    });
  }

  /** Resolves when the write may be retried. */
  async #failed(error: Error): Promise<undefined> {
    if (error instanceof CancelledFailure) throw error;
    this.#options.failureBackoff.recordError('StatusNotWritten', error.message);
    await sleep(backoffMs(++this.#failures));
  }
}
