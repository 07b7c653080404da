import { healingDelayMs } from '../../decisions/healing-backoff.ts';
import type { CycleNews, CycleRules, Hold, SickVm, Spent, Verdict } from '../../decisions/healing-state.ts';
import type { Clock } from './model-clock.ts';

export type Signal = { signal: 'verdict'; verdict: Verdict } | { signal: 'hold'; hold: Hold; report: boolean } | { signal: 'now' } | { signal: 'skip' };

export interface CycleOptions {
  clock: Clock;
  pool: string;
  sick: SickVm;
  hold: Hold;
  /** The activity that deletes the VM; `done` is told why it was kept, or null. */
  remove: (sick: SickVm, done: (kept: string | null) => void) => void;
  /** Tells the pool; `done` once it is on its way. */
  tell: (news: CycleNews, done: () => void) => void;
  onClosed: () => void;
}

interface Wait {
  holds: () => boolean;
  /** When it goes on whatever holds; milliseconds since the epoch. */
  at: number | null;
}
type Steps<T> = Generator<Wait, T, void>;
type Ended = Pick<Spent, 'end' | 'uid' | 'why'>;

/** A healing cycle as `workflows/heal-vm.ts` leads it, step by step: a step ends where that awaits something. */
export class ModelCycle {
  readonly name: string;
  sick: SickVm;
  phase: 'Removing' | 'Waiting' | 'Provisioning' = 'Removing';
  /** It does nothing more; its workflow closes in a moment. */
  hasEnded = false;
  /** Its new VM may be made. */
  get mayBeMade(): boolean {
    return this.phase === 'Provisioning' || this.#left !== null || this.#isSkipped || this.hasEnded;
  }
  readonly #options: CycleOptions;
  readonly #steps: Steps<void>;
  #wait: Wait = { holds: () => true, at: null };
  #nextAt = '';
  #isRemoved = false;
  #hold: Hold;
  #gone: CycleRules | null = null;
  #hasRecovered = false;
  #judged: Extract<Verdict, { verdict: 'Well' | 'Sick' }> | null = null;
  #left: string | null = null;
  #isSkipped = false;
  #isHurried = false;
  #isClosed = false;
  #isAsked = false;
  #later: Verdict[] = [];

  constructor(options: CycleOptions) {
    this.#options = options;
    this.sick = options.sick;
    this.name = options.sick.name;
    this.#hold = options.hold;
    this.#steps = this.#run();
    this.#goOn();
  }

  signal(told: Signal): void {
    switch (told.signal) {
      case 'verdict':
        this.#told(told.verdict);
        break;
      case 'hold':
        this.#hold = told.hold;
        this.#isAsked ||= told.report;
        break;
      case 'now':
        this.#isHurried = true;
        break;
      case 'skip':
        this.#isSkipped = true;
    }
    this.#goOn();
  }

  /** A person ends its workflow. */
  terminate(): void {
    this.hasEnded = true;
    this.#isClosed = true;
  }

  #close(): void {
    this.#isClosed = true;
    this.#options.onClosed();
  }

  #goOn(): void {
    const { clock } = this.#options;
    while (!this.#isClosed && (this.#wait.holds() || (this.#wait.at !== null && clock.now >= this.#wait.at))) {
      const { value, done } = this.#steps.next();
      if (done === true) return this.#close();
      this.#wait = value;
      if (value.at !== null) clock.in(value.at - clock.now, () => this.#goOn());
    }
  }

  *#run(): Steps<void> {
    for (;;) {
      const ended = yield* this.#attempt();
      if (ended !== null) {
        this.hasEnded = true;
        yield* this.#tell(ended);
        return;
      }
      const { verdict: _verdict, ...judged } = this.#judged as Extract<Verdict, { verdict: 'Sick' }>;
      this.sick = { ...judged, name: this.name };
      Object.assign(this, { phase: 'Removing' });
      this.#isRemoved = this.#hasRecovered = this.#isHurried = this.#isAsked = false;
      this.#gone = this.#judged = null;
      for (const told of this.#later.splice(0)) this.#told(told);
    }
  }

  *#attempt(): Steps<Ended | null> {
    const { uid, attempt, why } = this.sick;
    yield* this.#until(() => this.#hold === 'None' || this.#isHurried || this.#hasRecovered);
    if (this.#isOver()) return this.#over();
    if (this.#hasRecovered) return { end: 'Healed', uid, why: 'it runs well again' };
    let removal: { kept: string | null } | undefined;
    this.#options.remove(this.sick, (kept) => {
      removal = { kept };
      this.#goOn();
    });
    yield { holds: () => removal !== undefined, at: null };
    if (removal?.kept != null) return { end: 'Left', uid, why: removal.kept };
    this.#isRemoved = true;
    yield* this.#until(() => this.#gone !== null);
    if (this.#isOver()) return this.#over();
    const { clock } = this.#options;
    const delay = healingDelayMs(this.#gone!.backoff, attempt, clock.chance());
    this.#nextAt = new Date(clock.now + delay).toISOString();
    this.phase = 'Waiting';
    yield* this.#tell();
    yield* this.#until(() => this.#isHurried, delay);
    yield* this.#until(() => this.#hold !== 'All' || this.#isHurried);
    if (this.#isOver()) return this.#over();
    this.phase = 'Provisioning';
    yield* this.#tell();
    yield* this.#until(() => this.#judged !== null);
    if (this.#isOver()) return this.#over();
    const judged = this.#judged!;
    if (judged.verdict === 'Well') return { end: 'Healed', uid: judged.uid, why };
    const { maxAttempts } = judged.rules;
    return maxAttempts !== null && attempt >= maxAttempts ? { end: 'GivenUp', uid: judged.uid, why: `given up: ${judged.why}` } : null;
  }

  #told(told: Verdict): void {
    const { attempt, uid } = this.sick;
    if (told.verdict === 'Left') this.#left ??= told.why;
    else if (told.attempt > attempt && told.verdict !== 'Sick') this.#later.push(told);
    else if (told.verdict === 'Sick') {
      if (told.attempt === attempt + 1) this.#judged ??= told;
    } else if (told.attempt < attempt) return;
    else if (told.verdict === 'Gone') this.#gone ??= told.rules;
    else if (told.uid === uid) this.#hasRecovered = true;
    else this.#judged ??= told;
  }

  #isOver(): boolean {
    return this.#isSkipped || this.#left !== null;
  }

  #over(): Ended {
    const { uid } = this.sick;
    return this.#left === null ? { end: 'Skipped', uid: this.#isRemoved ? '' : uid, why: 'skipped' } : { end: 'Left', uid, why: this.#left };
  }

  *#until(holds: () => boolean, forMs?: number): Steps<void> {
    const { clock } = this.#options;
    const at = forMs === undefined ? null : clock.now + forMs;
    const isDone = (): boolean => this.#isOver() || holds();
    while (!isDone()) {
      yield { holds: () => this.#isAsked || isDone(), at };
      if (at !== null && clock.now >= at) return;
      if (!isDone()) yield* this.#tell();
    }
  }

  *#tell(ended?: Ended): Steps<void> {
    const { uid, attempt, why } = this.sick;
    this.#isAsked = false;
    const about = { vm: this.name, pool: this.#options.pool, uid, attempt, why };
    const attempts = this.#isRemoved ? attempt : attempt - 1;
    const stands: CycleNews = this.phase === 'Waiting' ? { ...about, news: 'Stands', phase: this.phase, nextAt: this.#nextAt } : { ...about, news: 'Stands', phase: this.phase };
    let isSent = false;
    this.#options.tell(ended === undefined ? stands : { ...about, ...ended, news: 'Ended', attempt: attempts }, () => {
      isSent = true;
      this.#goOn();
    });
    yield { holds: () => isSent, at: null };
  }
}
