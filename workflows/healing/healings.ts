import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { getExternalWorkflowHandle, log, ParentClosePolicy, startChild } from '@temporalio/workflow';
import type { PoolEvent } from '../../activities/lib/events.ts';
import type { PlanRequest, PoolKey } from '../../activities/pool/types.ts';
import {
  beginningOf,
  inProgress as cyclesInProgress,
  unblocked,
  withNews,
  withoutBeginning,
  withoutCycle,
  type CycleNews,
  type HealingState,
  type Hold,
  type SickVm,
} from '../../decisions/healing/state.ts';
import { summary } from '../../decisions/lib/summary.ts';
import type { PoolPlan } from '../../decisions/pool/plan.ts';
import { actOf } from '../../decisions/rollout/state.ts';
import { onSignal } from '../handlers.ts';
import {
  cycleNews,
  healHold,
  healNow,
  healPause,
  healResume,
  healSkip,
  healVmIdOf,
  verdict,
  type PoolRef,
} from '../messages.ts';
import type { AskingOf } from '../payloads.ts';
import type { InFlight } from '../pool/in-flight.ts';
import { recordHealing } from '../pool/steps.ts';
import { DroverCluster, DroverNamespace, DroverPhase, DroverPool } from '../search-attributes.ts';
import type { healVm } from './heal-vm.ts';

type Ask = (state: HealingState) => HealingState;
type CycleHandle = ReturnType<typeof getExternalWorkflowHandle>;

export interface HealingsOptions {
  ref: PoolRef;
  /** Null before the first look, which reads it from the pool's status. */
  state: HealingState | null;
  inProgress: InFlight;
  /** Called when the pool must be looked at again. */
  onChange: () => void;
}

/**
 * What a pool's workflow knows about the healing of its VMs. Each has a cycle, which is a workflow that outlives the
 * runs of the pool's workflow.
 */
export class Healings {
  state: HealingState | null;
  readonly #options: HealingsOptions;
  /** What was asked for since the last plan was requested, which does not know of it. */
  #asks: Ask[] = [];
  /** UID of the pool; null before the first look. */
  #pool: string | null = null;
  /** The last message to each cycle: the next waits for it, which keeps their order. */
  readonly #lines = new Map<string, Promise<void>>();

  constructor(options: HealingsOptions) {
    this.#options = options;
    this.state = options.state;
    onSignal(healPause, 'Replace no sick VM until healResume.', (asked) =>
      this.#ask((state) => ({ ...state, paused: actOf(asked, new Date(Date.now()).toISOString()) })),
    );
    onSignal(healResume, 'Replace sick VMs again.', () => this.#ask(({ paused: _paused, ...state }) => state));
    onSignal(
      healNow,
      'Do not wait with the healing of {"vm": …}; heal it again where it was given up or skipped.',
      (asked) => this.#healNow(asked),
    );
    onSignal(healSkip, 'End the healing of {"vm": …}: leave it as it is.', (asked) => this.#healSkip(asked));
    onSignal(cycleNews, 'The healing of a VM has come further.', (news) => this.#heard(news));
  }

  /** Returns what a plan needs to know. */
  request(): Pick<PlanRequest, 'healing'> {
    if (this.state !== null) this.#asks = [];
    return { healing: this.state };
  }

  /** Takes over what a plan has found, notifies the cycles, and starts the cycles of sick VMs. */
  taken(key: PoolKey, { healing }: Pick<PoolPlan, 'healing'>): void {
    this.#pool = key.uid;
    const before = this.state?.hold ?? 'None';
    const isCurrent = this.#asks.length === 0;
    const begin = isCurrent ? healing.begin : [];
    const dropped = new Set(isCurrent ? [] : healing.begin.map(({ name }) => name));
    const planned = { ...healing.state, cycles: healing.state.cycles.filter(({ vm }) => !dropped.has(vm)) };
    this.state = this.#asks.splice(0).reduce((state, ask) => ask(state), planned);
    for (const { vm, ...told } of healing.verdicts) this.#send(vm, (cycle) => cycle.signal(verdict, told));
    this.#tellHold(before, planned.hold, healing.ask, new Set(begin.map(({ name }) => name)));
    if (planned.hold !== before) this.#recordHold(key, before, planned.hold, healing.suspended);
    for (const vm of begin) this.#begin(key, vm, planned.hold);
    if (!isCurrent) this.#options.onChange();
  }

  /** Ends the cycles of an earlier pool of the same name. Keeps what was asked for since then. */
  reset(pool: string): void {
    for (const { vm } of this.state?.cycles ?? [])
      this.#send(vm, (cycle) => cycle.signal(verdict, { verdict: 'Left', why: 'its pool is no more' }));
    this.#pool = pool;
    this.state = null;
  }

  #begin(key: PoolKey, sick: SickVm, hold: Hold): void {
    const { ref } = this.#options;
    const { name, why } = sick;
    const startedAt = beginningOf(this.state, name);
    this.#inLine(name, 'batch', `heal ${name}: ${why}`, async () => {
      try {
        const child = await startChild<typeof healVm>('healVm', {
          workflowId: healVmIdOf(ref, name),
          args: [{ ref, key, sick, hold }],
          parentClosePolicy: ParentClosePolicy.ABANDON,
          staticSummary: summary(`Heals ${name}: ${why}`),
          typedSearchAttributes: [
            { key: DroverCluster, value: ref.cluster },
            { key: DroverNamespace, value: ref.namespace },
            { key: DroverPool, value: ref.name },
            { key: DroverPhase, value: 'Healing' },
          ],
        });
        child.result().catch((error: unknown) => this.#lost(name, startedAt, error));
      } catch (error) {
        // Either a cycle that has reported its end and is about to close, or a cycle of an earlier workflow of this
        // pool, or of an earlier pool of this name. Its report tells which.
        if (error instanceof WorkflowExecutionAlreadyStartedError)
          this.#send(name, (cycle) => cycle.signal(healHold, { hold, report: true }), withoutBeginning);
        else this.#lost(name, startedAt, error);
      }
    });
  }

  #heard(news: CycleNews): void {
    if (this.#pool === null || news.pool === this.#pool) return this.#ask((state) => withNews(state, news, Date.now()));
    // From an earlier pool of this name.
    if (news.news === 'Ended')
      this.#ask((state) => ({ ...state, cycles: state.cycles.filter(({ vm }) => vm !== news.vm) }));
    else this.#send(news.vm, (cycle) => cycle.signal(verdict, { verdict: 'Left', why: 'its pool is no more' }));
  }

  #healNow({ vm, ...asked }: AskingOf): void {
    if (vm === undefined) return;
    if (this.#isHealing(vm)) this.#send(vm, (cycle) => cycle.signal(healNow, asked));
    else this.#ask((state) => unblocked(state, vm));
  }

  #healSkip({ vm, ...asked }: AskingOf): void {
    if (vm !== undefined && this.#isHealing(vm)) this.#send(vm, (cycle) => cycle.signal(healSkip, asked));
  }

  #isHealing = (name: string): boolean => cyclesInProgress(this.state?.cycles ?? []).some(({ vm }) => vm === name);

  #tellHold(before: Hold, hold: Hold, ask: readonly string[], begun: ReadonlySet<string>): void {
    for (const { vm } of this.state!.cycles) {
      const report = ask.includes(vm);
      if ((report || hold !== before) && !begun.has(vm))
        this.#send(vm, (cycle) => cycle.signal(healHold, { hold, report }));
    }
  }

  #recordHold(key: PoolKey, before: Hold, hold: Hold, suspended: string | null): void {
    const event: Omit<PoolEvent, 'action'> | null =
      hold === 'Removals'
        ? { type: 'Warning', reason: 'HealingSuspended', note: suspended ?? '' }
        : before === 'Removals'
          ? { type: 'Normal', reason: 'HealingResumed', note: 'no longer are too many VMs sick at once' }
          : null;
    if (event === null) return;
    void this.#options.inProgress.run({ kind: 'telling', reason: event.reason }, () =>
      recordHealing(key, event).catch((error: unknown) =>
        log.warn('an Event was not written', { error: String(error) }),
      ),
    );
  }

  /** `forget`: how the state changes if no cycle is there to receive the signal. */
  #send(vm: string, send: (cycle: CycleHandle) => Promise<void>, forget = withoutCycle): void {
    const startedAt = beginningOf(this.state, vm);
    this.#inLine(vm, 'telling', `tell the healing of ${vm}`, () =>
      send(getExternalWorkflowHandle(healVmIdOf(this.#options.ref, vm))).catch((error: unknown) =>
        this.#lost(vm, startedAt, error, forget),
      ),
    );
  }

  /** Runs `act` after all earlier ones for this VM. The run does not end before them. */
  #inLine(vm: string, kind: 'batch' | 'telling', reason: string, act: () => Promise<void>): void {
    const before = this.#lines.get(vm);
    const line = this.#options.inProgress.run({ kind, reason }, async () => {
      await before;
      await act();
    });
    this.#lines.set(vm, line);
    void line.then(() => {
      if (this.#lines.get(vm) === line) this.#lines.delete(vm);
    });
  }

  #lost(vm: string, startedAt: string | undefined, error: unknown, forget = withoutCycle): void {
    log.info('a healing cycle is not there any more', { vm, error: String(error) });
    this.#ask((state) => forget(state, vm, startedAt, Date.now()));
  }

  #ask(ask: Ask): void {
    if (this.state !== null) this.state = ask(this.state);
    this.#asks.push(ask);
    this.#options.onChange();
  }
}
