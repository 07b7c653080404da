import { healingDelayMs } from './backoff.ts';
import {
  formatReplacements,
  type CycleNews,
  type CycleRules,
  type Hold,
  type SickVm,
  type FinishedCycle,
  type Verdict,
} from './state.ts';

/** What an attempt asks its caller to do before it continues. */
export type AttemptStep =
  /** Delete the VM, and its disks if they hold nothing. Answered with the outcome. */
  | { step: 'Remove' }
  /** Notify the pool. Answered once the news is sent, so that the pool receives all news in order. */
  | { step: 'Tell'; news: CycleNews }
  /** Wait until `holds` returns true, or until `until` (milliseconds since the epoch; null: no limit). */
  | { step: 'Wait'; holds: () => boolean; until: number | null };

/**
 * How a cycle has ended. `uid`: of the VM that is left as it is; '' for the replacement of a deleted VM, whose UID only
 * the pool knows.
 */
export type AttemptEnd = Pick<FinishedCycle, 'end' | 'uid' | 'why'>;

export interface AttemptOptions {
  /** The pool's UID. */
  pool: string;
  sick: SickVm;
  hold: Hold;
  /** Verdicts on this attempt that arrived before it began. */
  verdicts: readonly Verdict[];
  /** Milliseconds since the epoch. */
  now: () => number;
  /** Returns a random number in [0, 1). */
  chance: () => number;
}

/** Outcome of a removal. */
export type RemovalEnd = { end: 'Removed'; keptDisks: boolean } | { end: 'Kept' | 'Refused'; why: string };

/** How many VMs in a row are tried on the same disks if the pool sets no limit: another would hardly do better. */
const TRIES_ON_SAME_DISKS = 3;

type Steps<T> = Generator<AttemptStep, T, RemovalEnd | null>;
type Judged = Extract<Verdict, { verdict: 'Well' | 'Sick' }>;

/** One replacement of a sick VM, from its deletion to the verdict on the new VM. */
export class HealingAttempt {
  readonly sick: SickVm;
  phase: 'Removing' | 'Waiting' | 'Provisioning' = 'Removing';
  /** What the attempt is doing, in words for people. */
  doing: string;
  hold: Hold;
  /** Verdicts on the next attempt. */
  readonly later: Verdict[] = [];
  readonly #options: AttemptOptions;
  #nextAt = '';
  #isRemoved = false;
  #onSameDisks = 0;
  #gone: CycleRules | null = null;
  #hasRecovered = false;
  #judged: Judged | null = null;
  #left: string | null = null;
  #skipped: string | null = null;
  #isHurried = false;
  /** The pool has asked for a report. */
  #isAsked = false;

  constructor(options: AttemptOptions) {
    this.#options = options;
    this.sick = options.sick;
    this.hold = options.hold;
    this.doing = this.hold === 'None' ? 'deletes the VM' : 'waits until healing goes on';
    for (const verdict of options.verdicts) this.tell(verdict);
  }

  /**
   * Takes a verdict from the pool. Ignores late and repeated verdicts, and keeps those on the next attempt in `later`.
   */
  tell(told: Verdict): void {
    const { attempt, uid } = this.sick;
    if (told.verdict === 'Left') this.#left ??= told.why;
    else if (told.attempt > attempt && told.verdict !== 'Sick') this.later.push(told);
    else if (told.verdict === 'Sick') {
      if (told.attempt === attempt + 1) this.#judged ??= told;
    } else if (told.attempt < attempt) return;
    else if (told.verdict === 'Gone') this.#gone ??= told.rules;
    else if (told.uid === uid) this.#hasRecovered = true;
    else this.#judged ??= told;
  }

  /** Requests a report to the pool. */
  ask(): void {
    this.#isAsked = true;
  }

  /** Whether the pool has asked since the last report. */
  get isAsked(): boolean {
    return this.#isAsked;
  }

  /** Skips every wait that can be skipped: for the delay, and for healing to go on. */
  hurry(): void {
    this.#isHurried = true;
  }

  /** Ends the cycle and leaves the VM as it is. */
  skip(why: string): void {
    this.#skipped ??= why;
  }

  /** The rules in force: those of the latest verdict. */
  get rules(): CycleRules {
    return this.#gone ?? this.sick.rules;
  }

  /** Whether the new VM may be created. */
  get mayBeMade(): boolean {
    return this.phase === 'Provisioning' || this.#isOver();
  }

  /** Number of replacements made so far. */
  get made(): number {
    return this.#isRemoved ? this.sick.attempt : this.sick.attempt - 1;
  }

  /** The new VM, which is sick too; valid once `steps` has returned null. */
  get next(): SickVm {
    const { verdict: _verdict, ...sick } = this.#judged as Extract<Verdict, { verdict: 'Sick' }>;
    return { ...sick, name: this.sick.name, onSameDisks: this.#onSameDisks };
  }

  /** Returns the same end as if a person had skipped the VM. */
  skipped(why: string): AttemptEnd {
    return { end: 'Skipped', uid: this.#isRemoved ? '' : this.sick.uid, why };
  }

  ended(end: AttemptEnd): CycleNews {
    this.#isAsked = false;
    return { ...this.#about, ...end, news: 'Ended', attempt: this.made };
  }

  /** Yields one step after the other. Returns null if the new VM is sick too and is to be replaced. */
  *steps(): Steps<AttemptEnd | null> {
    const { uid, attempt, why } = this.sick;
    yield* this.#until(() => this.hold === 'None' || this.#isHurried || this.#hasRecovered);
    if (this.#isOver()) return this.#over();
    if (this.#hasRecovered) return { end: 'Healed', uid, why: 'it runs well again' };
    const removal = (yield { step: 'Remove' })!;
    if (removal.end !== 'Removed')
      return { end: removal.end === 'Refused' ? 'Refused' : 'Left', uid, why: removal.why };
    this.#onSameDisks = removal.keptDisks ? (this.sick.onSameDisks ?? 0) + 1 : 0;
    this.#isRemoved = true;
    this.doing = 'waits until the VM and its disks are gone';
    yield* this.#until(() => this.#gone !== null);
    if (this.#isOver()) return this.#over();

    const { now, chance } = this.#options;
    const delay = healingDelayMs(this.#gone!.backoff, attempt, chance());
    this.#nextAt = new Date(now() + delay).toISOString();
    this.phase = 'Waiting';
    this.doing = `waits until ${this.#nextAt} before it is recreated`;
    yield this.#stands();
    yield* this.#until(() => this.#isHurried, now() + delay);
    // A deleted VM is recreated even while no more VMs may be removed, unless a person has paused healing.
    if (this.hold === 'All' && !this.#isHurried) this.doing = 'the delay is over; waits until healing goes on';
    yield* this.#until(() => this.hold !== 'All' || this.#isHurried);
    if (this.#isOver()) return this.#over();

    this.phase = 'Provisioning';
    this.doing = 'the new VM is made, and watched until it runs well';
    yield this.#stands();
    yield* this.#until(() => this.#judged !== null);
    if (this.#isOver()) return this.#over();
    const judged = this.#judged!;
    if (judged.verdict === 'Well') return { end: 'Healed', uid: judged.uid, why };
    const { maxAttempts } = judged.rules;
    if (maxAttempts !== null && attempt >= maxAttempts)
      return { end: 'GivenUp', uid: judged.uid, why: `given up after ${formatReplacements(attempt)}: ${judged.why}` };
    if (maxAttempts === null && this.#onSameDisks >= TRIES_ON_SAME_DISKS) {
      const why = `given up after ${formatReplacements(this.#onSameDisks)} on the same disks, which are kept: whoever deletes the VM has them recreated (${judged.why})`;
      return { end: 'GivenUp', uid: judged.uid, why };
    }
    return null;
  }

  /**
   * Waits until `holds` returns true, `time` has come, or the cycle is over; meanwhile reports to the pool on request.
   */
  *#until(holds: () => boolean, time: number | null = null): Steps<void> {
    const isDone = (): boolean => this.#isOver() || holds();
    while (!isDone()) {
      yield { step: 'Wait', holds: () => this.#isAsked || isDone(), until: time };
      if (isDone()) return;
      if (!this.#isAsked) return;
      yield this.#stands();
    }
  }

  #isOver(): boolean {
    return this.#skipped !== null || this.#left !== null;
  }

  #over(): AttemptEnd {
    return this.#left === null ? this.skipped(this.#skipped!) : { end: 'Left', uid: this.sick.uid, why: this.#left };
  }

  #stands(): AttemptStep {
    this.#isAsked = false;
    const about = this.#about;
    const { phase } = this;
    return {
      step: 'Tell',
      news:
        phase === 'Waiting'
          ? { ...about, news: 'Stands', phase, nextAt: this.#nextAt }
          : { ...about, news: 'Stands', phase },
    };
  }

  get #about() {
    const { name: vm, uid, attempt, why } = this.sick;
    return { vm, pool: this.#options.pool, uid, attempt, why };
  }
}
