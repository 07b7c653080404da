import {
  CancellationScope,
  condition,
  continueAsNew,
  getExternalWorkflowHandle,
  isCancellation,
  log,
  proxyActivities,
  setCurrentDetails,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import type { HealActivities } from '../../activities/healing/replace-vm.ts';
import type { PoolEvent } from '../../activities/lib/events.ts';
import type { PoolKey } from '../../activities/pool/types.ts';
import { HealingAttempt, type AttemptEnd, type RemovalEnd } from '../../decisions/healing/attempt.ts';
import {
  formatReplacements,
  type CycleNews,
  type Hold,
  type SickVm,
  type FinishedCycle,
  type Verdict,
} from '../../decisions/healing/state.ts';
import { escapeMarkdown } from '../../decisions/lib/markdown.ts';
import { summary } from '../../decisions/lib/summary.ts';
import { onSignal } from '../handlers.ts';
import { cycleNews, healHold, healNow, healSkip, poolIdOf, verdict, type PoolRef } from '../messages.ts';
import type { Asking } from '../payloads.ts';
import { DroverPhase } from '../search-attributes.ts';

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
  end: FinishedCycle['end'];
  /** How many replacements were made. */
  attempts: number;
  why: string;
}

const { removeSickVm } = proxyActivities<HealActivities>({
  startToCloseTimeout: '5m',
  heartbeatTimeout: '10s',
  // Retried until done: the cycle can't go on without it.
  retry: { initialInterval: '500ms', maximumInterval: '30s' },
});
const { recordHealing } = proxyActivities<HealActivities>({
  startToCloseTimeout: '30s',
  retry: { maximumAttempts: 4 },
});

const PAST_KEPT = 50;

/**
 * One healing cycle of one VM: replaces the VM and its disks, and does so again after longer and longer delays while
 * the new VM is sick too. The pool's workflow creates the new VM, watches it, and tells the cycle what becomes of it.
 * Each attempt is a run of its own, so that the history stays short however long the VM stays sick.
 */
export const healVm = (input: HealVmInput): Promise<CycleEnd> => new Cycle(input).run();

class Cycle {
  readonly #in: HealVmInput;
  readonly #past: string[];
  readonly #attempt: HealingAttempt;

  constructor(input: HealVmInput) {
    this.#in = input;
    const { key, sick, hold, verdicts = [] } = input;
    this.#past = [...(input.past ?? [])];
    this.#note(`attempt ${sick.attempt}: ${sick.why}`);
    const attempt = new HealingAttempt({
      pool: key.uid,
      sick,
      hold,
      verdicts,
      now: () => Date.now(),
      chance: () => Math.random(),
    });
    this.#attempt = attempt;
    onSignal(verdict, 'What has become of the VM.', (told) => attempt.tell(told));
    onSignal(healHold, 'What of healing the pool allows now.', ({ hold: newer, report = false }) => {
      attempt.hold = newer;
      if (report) attempt.ask();
    });
    onSignal(
      healNow,
      'Do not wait, whatever it waits for: not for the rest of the delay, and not for healing to go on.',
      (asked) => {
        attempt.hurry();
        this.#note(`${words(asked)} asked not to wait`);
      },
    );
    onSignal(healSkip, 'Leave the VM as it is.', (asked) => attempt.skip(`skipped by ${words(asked)}`));
  }

  async run(): Promise<CycleEnd> {
    const attempt = this.#attempt;
    try {
      const ended = await this.#lead();
      if (ended !== null) return await this.#end(ended);
    } catch (error) {
      if (!isCancellation(error)) throw error;
      await CancellationScope.nonCancellable(() => this.#end(attempt.skipped('its workflow was cancelled')));
      throw error;
    }
    const next: HealVmInput = {
      ...this.#in,
      sick: attempt.next,
      hold: attempt.hold,
      past: this.#past,
      verdicts: attempt.later,
    };
    return continueAsNew<typeof healVm>(next);
  }

  /** Resolves with null if the new VM is sick too and is to be replaced. */
  async #lead(): Promise<AttemptEnd | null> {
    const steps = this.#attempt.steps();
    let removal: RemovalEnd | null = null;
    for (;;) {
      const { value, done } = steps.next(removal);
      if (done === true) return value;
      this.#show();
      if (value.step === 'Remove') removal = await this.#remove();
      else if (value.step === 'Tell') await this.#tell(value.news);
      else await this.#wait(value.holds, value.until);
    }
  }

  async #remove(): Promise<RemovalEnd> {
    const { key, sick } = this.#in;
    const words = { summary: summary(`delete ${sick.name}: ${sick.why}`) };
    const removal = await removeSickVm.executeWithOptions(words, [key, sick, Date.now()]);
    if (removal.end === 'Removed') for (const event of removal.events) this.#note(event);
    return removal;
  }

  async #wait(holds: () => boolean, until: number | null): Promise<void> {
    if (until === null) await condition(holds);
    else
      await condition(holds, Math.max(until - Date.now(), 1), {
        summary: summary(`the delay before replacement ${this.#in.sick.attempt}`),
      });
  }

  async #tell(news: CycleNews): Promise<void> {
    await getExternalWorkflowHandle(poolIdOf(this.#in.ref))
      .signal(cycleNews, news)
      .catch((error: unknown) => log.warn("the pool's workflow is not there to be told", { error: String(error) }));
  }

  async #end(ended: AttemptEnd): Promise<CycleEnd> {
    const { end, why } = ended;
    const attempt = this.#attempt;
    attempt.doing = `has ended: ${end}: ${why}`;
    this.#show();
    upsertSearchAttributes([{ key: DroverPhase, value: end }]);
    const tellEnd = (): Promise<void> => this.#tell(attempt.ended(ended));
    await tellEnd();
    const event = eventOf(attempt.sick.name, attempt.made, ended);
    if (event !== null)
      await recordHealing(this.#in.key, event).catch((error: unknown) =>
        log.warn('an Event was not written', { error: String(error) }),
      );
    // The pool may want to start the next cycle, and mistakes this one for it until this one has closed.
    while (attempt.isAsked) await tellEnd();
    return { end, attempts: attempt.made, why };
  }

  #note(what: string): void {
    this.#past.push(`${new Date(Date.now()).toISOString()} ${what}`);
    this.#past.splice(0, this.#past.length - PAST_KEPT);
  }

  #show(): void {
    const { sick, doing, rules } = this.#attempt;
    const most = rules.maxAttempts === null ? '' : ` of at most ${rules.maxAttempts}`;
    setCurrentDetails(
      [
        `**${sick.name}** is sick: ${escapeMarkdown(sick.why)}`,
        `Replacement ${sick.attempt}${most}: ${escapeMarkdown(doing)}`,
        ...this.#past.toReversed().map((line) => `- ${escapeMarkdown(line)}`),
      ].join('\n\n'),
    );
  }
}

function eventOf(vm: string, made: number, { end, why }: AttemptEnd): Omit<PoolEvent, 'action'> | null {
  if (end === 'GivenUp') return { type: 'Warning', reason: 'HealingGivenUp', note: `${vm}: ${why}` };
  if (end === 'Refused')
    return { type: 'Warning', reason: 'HealingRefused', note: `${vm} is sick and could not be deleted: ${why}` };
  if (end === 'Healed')
    return made === 0
      ? null
      : { type: 'Normal', reason: 'Healed', note: `${vm} runs well after ${formatReplacements(made)}` };
  return { type: 'Normal', reason: 'HealingEnded', note: `${vm}: ${why}` };
}

const words = ({ by = 'somebody', why }: Asking): string => `${by}${why === undefined ? '' : ` (${why})`}`;
