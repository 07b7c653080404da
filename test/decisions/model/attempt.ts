import { healingDelayMs } from '../../../decisions/healing/backoff.ts';
import type { AttemptEnd, AttemptId, PlannedAttempt, Removed, SickVm } from '../../../decisions/healing/state.ts';
import type { Clock } from './clock.ts';

export interface AttemptOptions {
  clock: Clock;
  attempt: PlannedAttempt;
  /** Runs the activity that deletes the VM. `done` gets the reason why the VM was kept, or null. */
  remove: (sick: SickVm, done: (kept: string | null) => void) => void;
  isGone: (id: AttemptId) => boolean;
  /** Signals the pool that the VM is gone. Calls `done` once the signal is sent. */
  onWaiting: (removed: Removed, done: () => void) => void;
  onEnd: (outcome: AttemptEnd, done: () => void) => void;
  onClosed: () => void;
}

/** Runs an attempt to heal a VM as `workflows/healing/heal-vm.ts` does. */
export class ModelAttempt {
  readonly id: AttemptId;
  /** The pool may be told of its end already; its workflow closes in a moment. */
  hasEnded = false;
  isCancelled = false;
  readonly #options: AttemptOptions;
  #removed: Removed | undefined;
  #isRemoved: boolean;
  #skipsDelay: boolean;
  #step: 'Removing' | 'Going' | 'Telling' | 'Waiting' = 'Removing';

  constructor(options: AttemptOptions) {
    this.#options = options;
    const { sick, startedAt, removed, skipDelay } = options.attempt;
    this.id = { vm: sick.name, uid: sick.uid, attempt: sick.attempt, startedAt };
    this.#removed = removed;
    this.#isRemoved = removed !== undefined;
    this.#skipsDelay = skipDelay;
    if (removed !== undefined) this.#wait(removed);
    else
      options.remove(sick, (why) => {
        if (this.hasEnded) return;
        if (why !== null && !this.isCancelled) return this.#end({ end: 'Kept', why });
        this.#isRemoved = why === null;
        if (this.isCancelled) return this.#end({ end: 'Cancelled', isRemoved: this.#isRemoved });
        this.#step = 'Going';
        this.look();
      });
  }

  /** Whether the VM may be recreated. */
  get mayBeMade(): boolean {
    return this.hasEnded || this.isCancelled;
  }

  hurry(): void {
    this.#skipsDelay = true;
    this.look();
  }

  cancel(): void {
    if (this.hasEnded || this.isCancelled) return;
    this.isCancelled = true;
    if (this.#step !== 'Removing') this.#end({ end: 'Cancelled', isRemoved: this.#isRemoved });
  }

  /** Ends the workflow, as a person may do. */
  terminate(): void {
    this.hasEnded = true;
  }

  /** Goes on if what it waits for has come. */
  look(): void {
    if (this.hasEnded) return;
    const { clock, attempt, isGone, onWaiting } = this.#options;
    if (this.#step === 'Going' && isGone(this.id)) {
      this.#step = 'Telling';
      const delay = healingDelayMs(attempt.sick.rules.backoff, attempt.sick.attempt, clock.chance());
      const removed = { keptDisks: false, nextAt: new Date(clock.now + delay).toISOString() };
      onWaiting(removed, () => this.#wait(removed));
    } else if (this.#step === 'Waiting' && (this.#skipsDelay || clock.now >= Date.parse(this.#removed!.nextAt)))
      this.#end({ end: 'Removed', ...this.#removed! });
  }

  #wait(removed: Removed): void {
    const { clock } = this.#options;
    this.#removed = removed;
    this.#step = 'Waiting';
    clock.in(Math.max(Date.parse(removed.nextAt) - clock.now, 1), () => this.look());
    if (this.#skipsDelay) clock.in(1, () => this.look());
  }

  #end(outcome: AttemptEnd): void {
    this.hasEnded = true;
    const { clock, onEnd, onClosed } = this.#options;
    onEnd(outcome, () => clock.in(clock.between(1, 80), onClosed));
  }
}
