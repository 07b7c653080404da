/** Something that a rollout waits for, in one sentence. */
export interface Wait {
  /**
   * `Blocked`: VMs that nothing is being done about have used up the budget for longer than the deadline. `Stuck`: it
   * may wait for VMs forever, and has nothing else to do.
   */
  kind: 'Approval' | 'Step' | 'Check' | 'Window' | 'Budget' | 'Blocked' | 'Stuck' | 'Vms' | 'Left' | 'Delay';
  message: string;
}

/** Collects what a rollout waits for, and when to look again at the latest. */
export class RolloutWaits {
  readonly all: Wait[] = [];
  /** When the passing of time alone changes something; milliseconds since the epoch. */
  requeueAt: number | null = null;
  readonly #now: number;

  constructor(now: number) {
    this.#now = now;
  }

  for(kind: Wait['kind'], message: string): void {
    this.all.push({ kind, message });
  }

  requeue(at: number): void {
    if (at > this.#now) this.requeueAt = Math.min(this.requeueAt ?? Infinity, at);
  }
}
