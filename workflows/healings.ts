import { getExternalWorkflowHandle, log, ParentClosePolicy, setHandler, startChild } from '@temporalio/workflow';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import type { PlanRequest, PoolKey } from '../activities/pool.ts';
import type { HealingCycle, HealingState, SickVm, Verdict } from '../decisions/healing-plan.ts';
import type { PoolPlan } from '../decisions/pool-plan.ts';
import type { healVm } from './heal-vm.ts';
import { cycleNews, healHold, healPause, healResume, healVmIdOf, verdict, type Asking, type CycleNews, type PoolRef } from './messages.ts';
import { DroverCluster, DroverNamespace, DroverPhase, DroverPool } from './search-attributes.ts';
import type { UnderWay } from './under-way.ts';

const SPENT_KEPT = 250;

type Ask = (state: HealingState) => HealingState;

export interface HealingsOptions {
  ref: PoolRef;
  /** Null before the first look: then the pool's status tells it. */
  state: HealingState | null;
  underWay: UnderWay;
  /** Told that the pool must be looked at again. */
  onChange: () => void;
}

/** What a pool's workflow knows of the healing of its VMs: each has a cycle of its own, a workflow that outlives its runs. */
export class Healings {
  state: HealingState | null;
  readonly #options: HealingsOptions;
  /** What was told since the last plan was asked for: that plan knows nothing of it. */
  #asks: Ask[] = [];
  #held = false;

  constructor(options: HealingsOptions) {
    this.#options = options;
    this.state = options.state;
    setHandler(healPause, (asked?: Asking | null) => this.#ask((state) => ({ ...state, paused: actOf(asked) })), {
      description: 'Replace no sick VM until healResume.',
    });
    setHandler(healResume, () => this.#ask(({ paused: _paused, ...state }) => state), { description: 'Replace sick VMs again.' });
    setHandler(cycleNews, (news) => this.#ask((state) => withNews(state, news)), { description: 'The healing of a VM has come further.' });
  }

  /** What a plan needs to know. */
  request(): Pick<PlanRequest, 'healing'> {
    if (this.state !== null) this.#asks = [];
    return { healing: this.state };
  }

  /** Takes over what a plan has found, tells the cycles, and begins those of VMs that are sick. */
  taken(key: PoolKey, { healing }: Partial<Pick<PoolPlan, 'healing'>>): void {
    // A plan of drover 0.1.0, in the history of a workflow that began under it, says nothing of healing.
    if (healing === undefined) return;
    const isCurrent = this.#asks.length === 0;
    const begin = isCurrent ? healing.begin : [];
    const begun = new Set(begin.map(({ name }) => name));
    const dropped = new Set(healing.begin.map(({ name }) => name).filter((name) => !begun.has(name)));
    const planned = { ...healing.state, cycles: healing.state.cycles.filter(({ vm }) => !dropped.has(vm)) };
    this.state = this.#asks.splice(0).reduce((state, ask) => ask(state), planned);
    for (const told of healing.verdicts) this.#signal(told.vm, (handle) => handle.signal(verdict, verdictOf(told)));
    this.#hold(healing.suspended !== null || this.state.paused !== undefined);
    for (const vm of begin) this.#begin(key, vm);
    if (!isCurrent) this.#options.onChange();
  }

  #begin(key: PoolKey, { name, uid, attempt, why, rules }: SickVm): void {
    const { ref, underWay, onChange } = this.#options;
    const reason = `heal ${name}: ${why}`;
    void underWay.run({ kind: 'batch', reason }, async () => {
      try {
        const child = await startChild<typeof healVm>('healVm', {
          workflowId: healVmIdOf(ref, name),
          args: [{ ref, key, vm: { name, uid }, attempt, why, rules, held: this.#held }],
          parentClosePolicy: ParentClosePolicy.ABANDON,
          staticSummary: `Heals ${name}: ${why}`.slice(0, 180),
          typedSearchAttributes: [
            { key: DroverCluster, value: ref.cluster },
            { key: DroverNamespace, value: ref.namespace },
            { key: DroverPool, value: ref.name },
            { key: DroverPhase, value: 'Healing' },
          ],
        });
        child.result().catch((error: unknown) => {
          log.warn('a healing cycle was ended from outside', { vm: name, error: String(error) });
          this.#forget(name);
        });
      } catch (error) {
        // One that an earlier workflow of this pool began: it is told as if it were ours.
        if (error instanceof WorkflowExecutionAlreadyStartedError) return;
        this.#forget(name);
        log.error('a healing cycle could not be begun', { vm: name, error: String(error) });
        onChange();
      }
    });
  }

  #hold(isHeld: boolean): void {
    if (isHeld === this.#held) return;
    this.#held = isHeld;
    for (const { vm } of this.state?.cycles ?? []) this.#signal(vm, (handle) => handle.signal(healHold, isHeld));
  }

  #signal(vm: string, send: (handle: ReturnType<typeof getExternalWorkflowHandle>) => Promise<void>): void {
    const handle = getExternalWorkflowHandle(healVmIdOf(this.#options.ref, vm));
    send(handle).catch((error: unknown) => {
      log.info('a healing cycle is not there any more', { vm, error: String(error) });
      this.#forget(vm);
    });
  }

  #forget(vm: string): void {
    this.#ask((state) => ({ ...state, cycles: state.cycles.filter((cycle) => cycle.vm !== vm) }));
  }

  #ask(ask: Ask): void {
    if (this.state !== null) this.state = ask(this.state);
    this.#asks.push(ask);
    this.#options.onChange();
  }
}

function withNews(state: HealingState, news: CycleNews): HealingState {
  if (news.news === 'Ended') {
    const { vm, uid, attempts, end, why } = news;
    const spent = [...state.spent.filter((one) => one.vm !== vm), { vm, uid, attempts, end, why: why.slice(0, 1024), at: now() }];
    return { ...state, cycles: state.cycles.filter((cycle) => cycle.vm !== vm), spent: spent.slice(-SPENT_KEPT) };
  }
  const change = (cycle: HealingCycle): HealingCycle => (news.news === 'Waits' ? { ...cycle, nextAt: news.nextAt } : { ...cycle, phase: 'Provisioning' });
  return { ...state, cycles: state.cycles.map((cycle) => (cycle.vm === news.vm ? change(cycle) : cycle)) };
}

function verdictOf({ vm: _vm, ...told }: { vm: string } & Verdict): Verdict {
  return told;
}

function actOf(asked: Asking | null | undefined): NonNullable<HealingState['paused']> {
  const { by = 'somebody', why } = asked ?? {};
  return { by, at: now(), ...(why === undefined ? {} : { why }) };
}

const now = (): string => new Date(Date.now()).toISOString();
