import { HealingAttempt, type AttemptEnd } from '../../../decisions/healing/attempt.ts';
import type { CycleNews, Hold, SickVm, Verdict } from '../../../decisions/healing/state.ts';
import type { Clock } from './clock.ts';

export type Signal =
  | { signal: 'verdict'; verdict: Verdict }
  | { signal: 'hold'; hold: Hold; report: boolean }
  | { signal: 'now' }
  | { signal: 'skip' };

export interface CycleOptions {
  clock: Clock;
  pool: string;
  sick: SickVm;
  hold: Hold;
  /** Runs the activity that deletes the VM. `done` gets the reason why the VM was kept, or null. */
  remove: (sick: SickVm, done: (kept: string | null) => void) => void;
  /** Tells the pool. Calls `done` once the signal is sent. */
  tell: (news: CycleNews, done: () => void) => void;
  onClosed: () => void;
}

interface Wait {
  holds: () => boolean;
  until: number | null;
}

/** Runs a healing cycle as `workflows/healing/heal-vm.ts` does: attempt after attempt, step by step. */
export class ModelCycle {
  readonly name: string;
  /** The cycle is over; its workflow closes in a moment. */
  hasEnded = false;
  readonly #options: CycleOptions;
  #attempt: HealingAttempt;
  #steps: ReturnType<HealingAttempt['steps']>;
  #wait: Wait | null = null;
  #isClosed = false;

  constructor(options: CycleOptions) {
    this.#options = options;
    const { sick, hold } = options;
    this.name = sick.name;
    this.#attempt = this.#attemptOn(sick, hold, []);
    this.#steps = this.#attempt.steps();
    this.#goOn(null);
  }

  get sick(): SickVm {
    return this.#attempt.sick;
  }
  get phase(): HealingAttempt['phase'] {
    return this.#attempt.phase;
  }
  /** Whether the VM may be recreated. */
  get mayBeMade(): boolean {
    return this.#attempt.mayBeMade || this.hasEnded;
  }

  signal(told: Signal): void {
    switch (told.signal) {
      case 'verdict':
        this.#attempt.tell(told.verdict);
        break;
      case 'hold':
        this.#attempt.hold = told.hold;
        if (told.report) this.#attempt.ask();
        break;
      case 'now':
        this.#attempt.hurry();
        break;
      case 'skip':
        this.#attempt.skip('skipped');
    }
    this.#look();
  }

  /** Ends the workflow, as a person may do. */
  terminate(): void {
    this.hasEnded = true;
    this.#isClosed = true;
  }

  #attemptOn(sick: SickVm, hold: Hold, verdicts: readonly Verdict[]): HealingAttempt {
    const { clock, pool } = this.#options;
    return new HealingAttempt({ pool, sick, hold, verdicts, now: () => clock.now, chance: () => clock.chance() });
  }

  #goOn(kept: string | null): void {
    if (this.#isClosed) return;
    this.#wait = null;
    const { value, done } = this.#steps.next(
      kept === null ? { end: 'Removed', keptDisks: false } : { end: 'Kept', why: kept },
    );
    if (done === true) return value === null ? this.#next() : this.#end(value);
    const { clock, remove, tell } = this.#options;
    if (value.step === 'Remove') remove(this.sick, (why) => this.#goOn(why));
    else if (value.step === 'Tell') tell(value.news, () => this.#goOn(null));
    else {
      this.#wait = value;
      if (value.until !== null) clock.in(value.until - clock.now, () => this.#look());
      this.#look();
    }
  }

  /** Continues if the awaited condition holds or its time is up. */
  #look(): void {
    if (
      this.#wait !== null &&
      (this.#wait.holds() || (this.#wait.until !== null && this.#options.clock.now >= this.#wait.until))
    )
      this.#goOn(null);
  }

  #next(): void {
    const { next, hold, later } = this.#attempt;
    this.#attempt = this.#attemptOn(next, hold, later);
    this.#steps = this.#attempt.steps();
    this.#goOn(null);
  }

  #end(ended: AttemptEnd): void {
    this.hasEnded = true;
    const { clock, tell } = this.#options;
    tell(this.#attempt.ended(ended), () => clock.in(clock.between(5, 80), () => this.#close(ended)));
  }

  #close(ended: AttemptEnd): void {
    if (this.#isClosed) return;
    if (this.#attempt.isAsked) return this.#options.tell(this.#attempt.ended(ended), () => this.#close(ended));
    this.#isClosed = true;
    this.#options.onClosed();
  }
}
