import { healingDelayMs } from './backoff.ts';
import {
  replacementsInWords,
  type CycleNews,
  type CycleRules,
  type Hold,
  type SickVm,
  type Spent,
  type Verdict,
} from './state.ts';

/** What an attempt asks of whoever leads it, before it goes on. */
export type AttemptStep =
  /** Delete the VM, with its disks where nothing is on them. To be answered with what became of that. */
  | { step: 'Remove' }
  /** Tell the pool. To be answered once that is on its way, so that the pool hears all in the order in which it was. */
  | { step: 'Tell'; news: CycleNews }
  /** Wait until it holds or that time is there, in milliseconds since the epoch. */
  | { step: 'Wait'; holds: () => boolean; until: number | null };

/**
 * How a cycle has ended. `uid`: of the VM that is left as it is; '' for the one that takes the place of the deleted
 * one, which only its pool knows.
 */
export type AttemptEnd = Pick<Spent, 'end' | 'uid' | 'why'>;

export interface AttemptOptions {
  /** The pool's UID. */
  pool: string;
  sick: SickVm;
  hold: Hold;
  /** Verdicts on this attempt that came before it began. */
  verdicts: readonly Verdict[];
  /** Milliseconds since the epoch. */
  now: () => number;
  /** From 0 to below 1. */
  chance: () => number;
}

/** What became of a VM that was to be removed. */
export type RemovalEnd = { end: 'Removed'; keptDisks: boolean } | { end: 'Kept' | 'Refused'; why: string };

/**
 * So many VMs in a row are tried on the same disks, where the pool sets no limit: another would hardly be better off.
 */
const TRIES_ON_SAME_DISKS = 3;

type Steps<T> = Generator<AttemptStep, T, RemovalEnd | null>;
type Judged = Extract<Verdict, { verdict: 'Well' | 'Sick' }>;

/** One replacement of a sick VM, from its deletion to the verdict on the new one. */
export class HealingAttempt {
  readonly sick: SickVm;
  phase: 'Removing' | 'Waiting' | 'Provisioning' = 'Removing';
  /** What it does now, for people. */
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
  /** The pool wants to hear of it. */
  #isAsked = false;

  constructor(options: AttemptOptions) {
    this.#options = options;
    this.sick = options.sick;
    this.hold = options.hold;
    this.doing = this.hold === 'None' ? 'deletes the VM' : 'waits until healing goes on';
    for (const verdict of options.verdicts) this.tell(verdict);
  }

  /** What has become of the VM. One that comes late, or twice, is about another attempt. */
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

  /** The pool wants to hear how it stands. */
  ask(): void {
    this.#isAsked = true;
  }

  /** The pool has asked since it was told last. */
  get isAsked(): boolean {
    return this.#isAsked;
  }

  /** It waits for nothing but what must be. */
  hurry(): void {
    this.#isHurried = true;
  }

  /** The VM is to be left as it is. */
  skip(why: string): void {
    this.#skipped ??= why;
  }

  /** It is to go by these: those of the last verdict. */
  get rules(): CycleRules {
    return this.#gone ?? this.sick.rules;
  }

  /** The new VM is not held back by it. */
  get mayBeMade(): boolean {
    return this.phase === 'Provisioning' || this.#isOver();
  }

  /** Replacements that were made until now. */
  get made(): number {
    return this.#isRemoved ? this.sick.attempt : this.sick.attempt - 1;
  }

  /** The new VM, which is sick as well, once `steps` has ended with null. */
  get next(): SickVm {
    const { verdict: _verdict, ...sick } = this.#judged as Extract<Verdict, { verdict: 'Sick' }>;
    return { ...sick, name: this.sick.name, onSameDisks: this.#onSameDisks };
  }

  /** As if somebody had skipped it. */
  skipped(why: string): AttemptEnd {
    return { end: 'Skipped', uid: this.#isRemoved ? '' : this.sick.uid, why };
  }

  ended(end: AttemptEnd): CycleNews {
    this.#isAsked = false;
    return { ...this.#about, ...end, news: 'Ended', attempt: this.made };
  }

  /** Leads from one step to the next; null where the new VM is sick as well, and is to be replaced. */
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
    this.doing = `waits until ${this.#nextAt} before it is made anew`;
    yield this.#stands();
    yield* this.#until(() => this.#isHurried, now() + delay);
    // What was deleted comes back even where nothing more may be deleted, unless a person wants nothing done.
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
      return { end: 'GivenUp', uid: judged.uid, why: `given up after ${replacementsInWords(attempt)}: ${judged.why}` };
    if (maxAttempts === null && this.#onSameDisks >= TRIES_ON_SAME_DISKS) {
      const why = `given up after ${replacementsInWords(this.#onSameDisks)} on the same disks, which are kept: whoever deletes the VM has them made anew (${judged.why})`;
      return { end: 'GivenUp', uid: judged.uid, why };
    }
    return null;
  }

  /** Until it holds, the time is there, or the cycle is over; it tells how it stands where the pool asks meanwhile. */
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
