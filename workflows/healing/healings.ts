import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  CancelledFailure,
  condition,
  getExternalWorkflowHandle,
  isCancellation,
  log,
  ParentClosePolicy,
  proxyActivities,
  sleep,
  startChild,
} from '@temporalio/workflow';
import type { HealActivities } from '../../activities/healing/heal-vm.ts';
import type { PoolKey } from '../../activities/owners/owner-key.ts';
import type { PlanRequest } from '../../activities/owners/plan-request.ts';
import type { KnownStatus } from '../../activities/owners/status.ts';
import { attemptIdOf, type AttemptId, type PlannedAttempt } from '../../decisions/healing/attempt.ts';
import type { HealingEvent } from '../../decisions/healing/events.ts';
import {
  attemptKey,
  carriedOver,
  runOf,
  withTold,
  type Cycle,
  type HealingRun,
  type HealingSignal,
} from '../../decisions/healing/state.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { summary } from '../../decisions/lib/summary.ts';
import type { PoolPlan } from '../../decisions/pool/plan.ts';
import type { Journal } from '../history/journal.ts';
import { attemptEnded, attemptWaiting, healVmIdOf, type PoolRef } from '../lib/messages.ts';
import { onSignal } from '../lib/on-signal.ts';
import type { ChildEnd } from '../lib/payloads.ts';
import { DroverCluster, DroverNamespace, DroverPhase, DroverPool } from '../lib/search-attributes.ts';
import type { InFlight } from '../owners/in-flight.ts';
import { Inbox } from '../owners/inbox.ts';
import { FEW_WRITES } from '../owners/steps.ts';
import type { healVm } from './heal-vm.ts';

const { recordHealing } = proxyActivities<HealActivities>(FEW_WRITES);

/** Plain data: each run hands it to the next. */
export interface HealingsState {
  /** Null before the first plan. */
  run: HealingRun | null;
  /** What no plan has recorded yet. */
  told: readonly HealingSignal[];
}

interface HealingsOptions {
  ref: PoolRef;
  state: HealingsState | undefined;
  inProgress: InFlight;
  journal: Journal;
  /** Called when the pool must be looked at again, with the resource versions that the look must have seen. */
  onChange: (minVersions?: ResourceVersions) => void;
}

/** How long to wait before an attempt that could not be begun, or that a user ended, is begun again. */
const AGAIN_MS = 5_000;
/** How long an attempt may take to end once it is cancelled. Afterwards its VM is free. */
const CANCELLED_MS = 60_000;

/**
 * What a pool's workflow knows about the healing of its VMs beside the pool's status. Each attempt is a workflow that
 * outlives the runs of the pool's workflow.
 */
export class Healings {
  /** As the last plan has found them. */
  cycles: readonly Cycle[] = [];
  #run: HealingRun | null;
  readonly #options: HealingsOptions;
  readonly #inbox: Inbox<HealingSignal>;
  /** Attempts that are being cancelled, until they end. */
  readonly #cancelled = new Set<string>();

  constructor(options: HealingsOptions) {
    this.#options = options;
    this.#run = options.state?.run ?? null;
    this.#inbox = new Inbox(withTold, options.state?.told);
    onSignal(attemptWaiting, 'Internal: an unhealthy VM is gone.', ({ minVersions, keptDisks, nextAt, ...id }) =>
      this.#receive({ kind: 'removed', id, removed: { keptDisks, nextAt } }, minVersions),
    );
    onSignal(attemptEnded, 'Internal: an attempt to heal a VM has ended.', ({ outcome, minVersions, ...id }) => {
      this.#cancelled.delete(attemptKey(id));
      this.#receive({ kind: 'ended', id, outcome }, minVersions);
    });
  }

  /** Returns what a plan needs to know. */
  request(): Pick<PlanRequest, 'healing'> {
    return this.#run === null ? {} : { healing: this.#run };
  }

  /** Returns what a plan is to take into account. */
  told(): HealingSignal[] {
    return this.#inbox.give();
  }

  /** Takes over what a plan has found, and recorded: records Events, cancels attempts and begins others. */
  applyPlan(key: PoolKey, { healing, isRecorded }: Pick<PoolPlan, 'healing'> & KnownStatus): void {
    this.#inbox.answered(isRecorded);
    if (!isRecorded) return;
    this.cycles = healing.state.cycles;
    this.#run = runOf(healing.state);
    for (const attempt of healing.cancel) this.#cancel(attempt);
    for (const event of healing.events) this.#record(key, event);
    for (const attempt of healing.begin) this.#begin(key, attempt);
  }

  /** Called when a child of the pool's workflow was ended from outside, and an earlier run may have started it. */
  lost({ workflowId, endedAt }: ChildEnd): void {
    const cycle = this.cycles.find(
      (one) => this.#workflowIdOf(one) === workflowId && one.run.state === 'Running' && one.run.since <= endedAt,
    );
    if (cycle !== undefined && !this.#cancelled.has(attemptKey(cycle)))
      this.#beginLater(attemptIdOf(cycle), 'Unknown', 'found by the watch');
  }

  /** What the next run must know. */
  get carried(): HealingsState {
    return { run: this.#run === null ? null : carriedOver(this.#run), told: this.#inbox.all };
  }

  /** Ends the attempts for an earlier pool of the same name. Keeps what was asked for since then. */
  reset(): void {
    for (const cycle of this.cycles) if (cycle.phase !== 'Provisioning') this.#cancel(attemptIdOf(cycle));
    this.cycles = [];
    this.#run = null;
    this.#inbox.answered(true);
  }

  #begin(key: PoolKey, { isAgain, ...attempt }: PlannedAttempt): void {
    const { ref, inProgress, journal } = this.#options;
    const { unhealthyVm, startedAt } = attempt;
    const { name, message } = unhealthyVm;
    const id = { vm: name, uid: unhealthyVm.uid, attempt: unhealthyVm.attempt, startedAt };
    const workflow = this.#workflowIdOf(id);
    if (!journal.isOpen(workflow)) {
      // Of the attempt before.
      journal.end({ action: 'heal', vms: [name] }, { end: 'UnhealthyAgain', message });
      journal.begin({ action: 'heal', vms: [name], reason: `heal ${name}: ${message}`, workflow });
    }
    void inProgress.run({ kind: 'batch', reason: `heal ${name}: ${message}` }, async () => {
      try {
        const child = await startChild<typeof healVm>('healVm', {
          workflowId: workflow,
          args: [{ ref, key, attempt }],
          parentClosePolicy: ParentClosePolicy.ABANDON,
          staticSummary: summary(`Heals ${name}: ${message}`),
          typedSearchAttributes: [
            { key: DroverCluster, value: ref.cluster },
            { key: DroverNamespace, value: ref.namespace },
            { key: DroverPool, value: ref.name },
            { key: DroverPhase, value: 'Healing' },
          ],
        });
        // An attempt reports its end by a signal, since this run may be over by then. Only an end from outside is
        // handled here.
        child.result().catch((error: unknown) => {
          if (!isCancellation(error)) this.#beginLater(id, 'Unknown', error);
        });
      } catch (error) {
        if (error instanceof CancelledFailure) throw error;
        const isThere = error instanceof WorkflowExecutionAlreadyStartedError;
        if (!isThere || !isAgain) {
          // An attempt of an earlier cycle, or for an earlier pool of this name, has the id.
          if (isThere) this.#cancelEarlier(id);
          this.#beginLater(id, isAgain ? 'Unknown' : 'NotBegun', error);
        }
      }
    });
  }

  /** Has an attempt begun again in a moment if its end is not known. */
  #beginLater(id: AttemptId, run: 'NotBegun' | 'Unknown', error: unknown): void {
    log.info('an attempt to heal a VM does not run', { ...id, error: String(error) });
    void this.#options.inProgress.run({ kind: 'notifying', reason: `heal ${id.vm} in a moment` }, async () => {
      await sleep(AGAIN_MS, { summary: summary(`the delay before ${id.vm} is healed`) });
      this.#receive({ kind: 'lost', id, run });
    });
  }

  /** Cancels an attempt whose cycle is over. Until it has ended, it may still be deleting its VM. */
  #cancel(id: AttemptId): void {
    const key = attemptKey(id);
    this.#cancelled.add(key);
    const operation = { kind: 'cancelled', names: [id.vm], reason: `end the healing of ${id.vm}` } as const;
    const { inProgress, journal } = this.#options;
    const run = inProgress.run(operation, async () => {
      await getExternalWorkflowHandle(this.#workflowIdOf(id))
        .cancel()
        .then(() => condition(() => !this.#cancelled.has(key), CANCELLED_MS))
        .catch((error: unknown) => log.info('an attempt to cancel has ended', { ...id, error: String(error) }));
      this.#cancelled.delete(key);
      // The healing of a VM whose delay was cut short continues without its attempt.
      if (!this.cycles.some((cycle) => attemptKey(cycle) === key))
        journal.end({ workflow: this.#workflowIdOf(id) }, { end: 'NotWanted' });
    });
    void run.then(() => this.#options.onChange());
  }

  #cancelEarlier(id: AttemptId): void {
    void this.#options.inProgress.run({ kind: 'notifying', reason: `cancel the healing of ${id.vm}` }, () =>
      getExternalWorkflowHandle(this.#workflowIdOf(id))
        .cancel()
        .catch((error: unknown) => log.info('an attempt to heal a VM has ended', { ...id, error: String(error) })),
    );
  }

  #record(key: PoolKey, event: HealingEvent): void {
    const { ended, ...rest } = event;
    if (ended !== undefined) this.#options.journal.end({ action: 'heal', vms: [ended.vm] }, ended);
    void this.#options.inProgress.run({ kind: 'notifying', reason: event.reason }, () =>
      recordHealing(key, rest).catch((error: unknown) =>
        log.warn('an Event was not written', { error: String(error) }),
      ),
    );
  }

  #workflowIdOf = ({ vm, attempt }: AttemptId): string => healVmIdOf(this.#options.ref, vm, attempt);

  #receive(signal: HealingSignal, minVersions?: ResourceVersions): void {
    this.#inbox.add(signal);
    this.#options.onChange(minVersions);
  }
}
