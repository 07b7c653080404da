import { CancellationScope, condition, continueAsNew, getExternalWorkflowHandle, isCancellation, log, proxyActivities, setCurrentDetails, setHandler, upsertSearchAttributes } from '@temporalio/workflow';
import type { HealActivities } from '../activities/heal.ts';
import type { PoolKey } from '../activities/pool.ts';
import { healingDelayMs } from '../decisions/healing-backoff.ts';
import { replacementsInWords, type CycleNews, type CycleRules, type Hold, type SickVm, type Spent, type Verdict } from '../decisions/healing-state.ts';
import { cycleNews, healHold, healNow, healSkip, poolIdOf, verdict, type Asking, type PoolRef } from './messages.ts';
import { DroverPhase } from './search-attributes.ts';

export interface HealVmInput {
  ref: PoolRef;
  key: PoolKey;
  sick: SickVm;
  hold: Hold;
  /** Verdicts on this attempt that came before it began. */
  verdicts?: Verdict[];
  /** What happened before, newest last: a person may ask weeks later. */
  past?: string[];
}

export interface CycleEnd {
  end: Spent['end'];
  /** Replacements that were made. */
  attempts: number;
  why: string;
}

const { removeSickVm } = proxyActivities<HealActivities>({
  startToCloseTimeout: '5m',
  heartbeatTimeout: '10s',
  // Tried until it is done: the cycle can't go on without.
  retry: { initialInterval: '500ms', maximumInterval: '30s' },
});
const { recordHealing } = proxyActivities<HealActivities>({ startToCloseTimeout: '30s', retry: { maximumAttempts: 4 } });

const PAST_KEPT = 50;

/**
 * One healing cycle of one VM: replaces it and its disks, and again after a longer delay for as long as the new one is sick as
 * well. The pool's workflow makes the new VM and watches it; it tells this one what becomes of it. Each attempt is a run of its
 * own, so that the history stays short however long the VM stays sick.
 */
export const healVm = (input: HealVmInput): Promise<CycleEnd> => new Attempt(input).run();

type Judged = Extract<Verdict, { verdict: 'Well' | 'Sick' }>;

class Attempt {
  readonly #in: HealVmInput;
  readonly #past: string[];
  #phase: 'Removing' | 'Waiting' | 'Provisioning' = 'Removing';
  #nextAt = '';
  #isRemoved = false;

  // What it was told.
  #hold: Hold;
  #gone: CycleRules | null = null;
  #hasRecovered = false;
  #judged: Judged | null = null;
  #left: string | null = null;
  #skipped: Asking | null = null;
  #isHurried = false;
  /** The pool wants to hear of it. */
  #isAsked = false;
  /** Verdicts on the next attempt. */
  readonly #later: Verdict[] = [];

  constructor(input: HealVmInput) {
    this.#in = input;
    this.#hold = input.hold;
    this.#past = [...(input.past ?? [])];
    this.#note(`attempt ${input.sick.attempt}: ${input.sick.why}`);
    for (const told of input.verdicts ?? []) this.#told(told);
    setHandler(verdict, (told) => this.#told(told), { description: 'What has become of the VM.' });
    setHandler(
      healHold,
      ({ hold, report = false }) => {
        this.#hold = hold;
        this.#isAsked ||= report;
      },
      { description: 'What of healing the pool allows now.' },
    );
    // Temporal's Web UI sends null where nothing is typed.
    setHandler(
      healNow,
      (asked?: Asking | null) => {
        this.#isHurried = true;
        this.#note(`${words(asked)} asked not to wait`);
      },
      { description: 'Do not wait, whatever it waits for: not for the rest of the delay, and not for healing to go on.' },
    );
    setHandler(healSkip, (asked?: Asking | null) => void (this.#skipped = asked ?? {}), { description: 'Leave the VM as it is.' });
  }

  async run(): Promise<CycleEnd> {
    try {
      const ended = await this.#cycle();
      if (ended !== null) return await this.#end(ended);
    } catch (error) {
      if (!isCancellation(error)) throw error;
      await CancellationScope.nonCancellable(() => this.#end({ end: 'Skipped', uid: this.#skippedUid(), why: 'its workflow was cancelled' }));
      throw error;
    }
    const judged = this.#judged as Extract<Verdict, { verdict: 'Sick' }>;
    const next: HealVmInput = { ...this.#in, sick: { ...judged, name: this.#in.sick.name }, hold: this.#hold, past: this.#past, verdicts: this.#later };
    return continueAsNew<typeof healVm>(next);
  }

  /** Null where the new VM is sick as well, and is to be replaced. */
  async #cycle(): Promise<Ended | null> {
    const { key, sick } = this.#in;
    const { name, uid, attempt, why } = sick;
    this.#show(this.#hold === 'None' ? 'deletes the VM' : 'waits until healing goes on');
    await this.#until(() => this.#hold === 'None' || this.#isHurried || this.#hasRecovered);
    if (this.#isOver()) return this.#over(uid);
    if (this.#hasRecovered) return { end: 'Healed', uid, why: 'it runs well again' };
    const removal = await removeSickVm.executeWithOptions({ summary: `delete ${name}: ${why}`.slice(0, 180) }, [key, sick, Date.now()]);
    if (removal.end === 'Kept') return { end: 'Left', uid, why: removal.why };
    this.#isRemoved = true;
    for (const event of removal.events) this.#note(event);
    this.#show('waits until the VM and its disks are gone');
    await this.#until(() => this.#gone !== null);
    if (this.#isOver()) return this.#over(uid);

    const delay = healingDelayMs(this.#gone!.backoff, attempt, Math.random());
    this.#nextAt = new Date(Date.now() + delay).toISOString();
    this.#phase = 'Waiting';
    await this.#tell();
    this.#show(`waits until ${this.#nextAt} before it is made anew`);
    await this.#until(() => this.#isHurried, delay);
    // What was deleted comes back even where nothing more may be deleted, unless a person wants nothing done.
    if (this.#hold === 'All' && !this.#isHurried) this.#show('the delay is over; waits until healing goes on');
    await this.#until(() => this.#hold !== 'All' || this.#isHurried);
    if (this.#isOver()) return this.#over(uid);

    this.#phase = 'Provisioning';
    await this.#tell();
    this.#show('the new VM is made, and watched until it runs well');
    await this.#until(() => this.#judged !== null);
    if (this.#isOver()) return this.#over(uid);
    const judged = this.#judged!;
    if (judged.verdict === 'Well') return { end: 'Healed', uid: judged.uid, why };
    const { maxAttempts } = judged.rules;
    if (maxAttempts !== null && attempt >= maxAttempts) return { end: 'GivenUp', uid: judged.uid, why: `given up after ${replacementsInWords(attempt)}: ${judged.why}` };
    return null;
  }

  /** One that comes late, or twice, is about another attempt. */
  #told(told: Verdict): void {
    const { attempt, uid } = this.#in.sick;
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
    return this.#skipped !== null || this.#left !== null;
  }

  #over(uid: string): Ended {
    return this.#left === null ? { end: 'Skipped', uid: this.#skippedUid(), why: `skipped by ${words(this.#skipped)}` } : { end: 'Left', uid, why: this.#left };
  }

  /** Of the VM that is to be left as it is: the one that takes the place of the deleted one only its pool knows. */
  #skippedUid(): string {
    return this.#isRemoved ? '' : this.#in.sick.uid;
  }

  /** Waits until it holds, the time is over, or the cycle is; and tells how it stands where the pool asks meanwhile. */
  async #until(holds: () => boolean, forMs?: number): Promise<void> {
    const deadline = forMs === undefined ? null : Date.now() + forMs;
    const isDone = (): boolean => this.#isOver() || holds();
    while (!isDone()) {
      const awake = (): boolean => this.#isAsked || isDone();
      if (deadline === null) await condition(awake);
      else if (!(await condition(awake, Math.max(deadline - Date.now(), 1), { summary: `the delay before replacement ${this.#in.sick.attempt}` }))) return;
      if (!isDone()) await this.#tell();
    }
  }

  /** Awaited, so that what the pool hears comes in the order in which it was. */
  async #tell(ended?: Ended): Promise<void> {
    const { ref, key, sick } = this.#in;
    const { name: vm, uid, attempt, why } = sick;
    const about = { vm, pool: key.uid, uid, attempt, why };
    this.#isAsked = false;
    const stands = (): CycleNews => (this.#phase === 'Waiting' ? { ...about, news: 'Stands', phase: this.#phase, nextAt: this.#nextAt } : { ...about, news: 'Stands', phase: this.#phase });
    const news: CycleNews = ended === undefined ? stands() : { ...about, ...ended, news: 'Ended', attempt: this.#attempts };
    await getExternalWorkflowHandle(poolIdOf(ref))
      .signal(cycleNews, news)
      .catch((error: unknown) => log.warn("the pool's workflow is not there to be told", { error: String(error) }));
  }

  get #attempts(): number {
    return this.#isRemoved ? this.#in.sick.attempt : this.#in.sick.attempt - 1;
  }

  async #end(ended: Ended): Promise<CycleEnd> {
    const { end, why } = ended;
    const { name } = this.#in.sick;
    this.#show(`has ended: ${end}: ${why}`);
    upsertSearchAttributes([{ key: DroverPhase, value: end }]);
    await this.#tell(ended);
    const event = eventOf(name, this.#attempts, ended);
    if (event !== null) await recordHealing(this.#in.key, event).catch((error: unknown) => log.warn('an Event was not written', { error: String(error) }));
    return { end, attempts: this.#attempts, why };
  }

  #note(what: string): void {
    this.#past.push(`${new Date(Date.now()).toISOString()} ${what}`);
    this.#past.splice(0, this.#past.length - PAST_KEPT);
  }

  #show(doing: string): void {
    const { sick } = this.#in;
    const { maxAttempts } = this.#gone ?? sick.rules;
    const most = maxAttempts === null ? '' : ` of at most ${maxAttempts}`;
    setCurrentDetails([`**${sick.name}** is sick: ${sick.why}`, `Replacement ${sick.attempt}${most}: ${doing}`, ...this.#past.toReversed().map((line) => `- ${line}`)].join('\n\n'));
  }
}

type Ended = Pick<Spent, 'end' | 'uid' | 'why'>;

function eventOf(vm: string, attempts: number, { end, why }: Ended): { type: 'Normal' | 'Warning'; reason: string; note: string } | null {
  if (end === 'GivenUp') return { type: 'Warning', reason: 'HealingGivenUp', note: `${vm}: ${why}` };
  if (end === 'Healed') return attempts === 0 ? null : { type: 'Normal', reason: 'Healed', note: `${vm} runs well after ${replacementsInWords(attempts)}` };
  return { type: 'Normal', reason: 'HealingEnded', note: `${vm}: ${why}` };
}

const words = (asked: Asking | null | undefined): string => `${asked?.by ?? 'somebody'}${asked?.why === undefined ? '' : ` (${asked.why})`}`;
