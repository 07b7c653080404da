import { countOf } from '../../api/lib/int-or-percent.ts';
import { namespacedName } from '../../decisions/disruption-budget/restart-budget.ts';
import { pick } from '../../decisions/lib/json.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import {
  MAX_TO_CHANGE,
  planTransition,
  verificationOf,
  type TransitionPlan,
} from '../../decisions/machine-types/plan.ts';
import {
  addOutcome,
  isAtWork,
  isFullOf,
  mayFail,
  TALLIED,
  transitionProgress,
  type TransitionTally,
} from '../../decisions/machine-types/transition-tally.ts';
import type { TransitionCounts, TransitionProgress } from '../../decisions/machine-types/transition.ts';
import { transitionNeed } from '../../decisions/machine-types/vm-need.ts';
import { operationName } from '../../decisions/operations/ref.ts';
import type { PowerOutcome, Verification } from '../../decisions/power/outcome.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import type { Changed } from '../cache/changes.ts';
import { looksTheSame } from '../cache/looks-the-same.ts';
import type { CacheChange } from '../cache/objects/cache-change.ts';
import type { RunChanges, RunRequest } from '../power/request.ts';
import { RunMethod, type RunLook, type RunMethodOptions } from '../power/run-method.ts';
import type { VmPowerOptions } from '../power/vm-power.ts';
import type { TransitionContext, TransitionContexts, TransitionRequest } from './context.ts';

/** The least time between two turns of a transition, in milliseconds, unless there is enough for a whole one. */
const TURN_MS = 500;

export interface FollowTransitionRequest extends TransitionRequest, RunRequest, TransitionTally {
  /** What there was when the operation was made. */
  asOf: ResourceVersions;
  /** How many calls have told what they did. */
  turn: number;
}

/** What of a plan is told: what the transition has come to, and what else is to be done now. */
export const REPORTED = ['patch', 'check', 'unlabel', 'counts', 'skipped', 'full'] as const;

export interface FollowedTransition extends RunChanges, Pick<TransitionPlan, (typeof REPORTED)[number]> {}

interface TransitionMethodOptions
  extends Pick<VmPowerOptions, 'client' | 'cache' | 'claims'>, Pick<RunMethodOptions, 'tell'> {
  request: FollowTransitionRequest;
  contexts: TransitionContexts;
  context: TransitionContext;
  onLook?: ((id: string, counts: TransitionCounts) => void) | undefined;
}

/** Restarts VMs that have another machine type than their VMIs. */
export class TransitionMethod extends RunMethod<TransitionPlan> {
  readonly #in: TransitionMethodOptions;
  readonly #atOnce: number;
  #context: TransitionContext;
  readonly #tally: TransitionTally;
  #concerned: ReadonlySet<string> = new Set();
  #limited: ReadonlySet<string> = new Set();
  #isEnding = false;
  #isFirst = true;
  /** Whether the caches are known to be at least as new as the operation. */
  #hasSeenAll = false;

  constructor(options: TransitionMethodOptions) {
    const { operation, turn } = options.request;
    const { deadlineMs, requestedBy, reason } = options.context.rules.transition;
    const note = `Restarted for its new machine type, requested by ${requestedBy}${reason === null ? '' : `: ${reason}`}`;
    const atOnce = atOnceIn(options);
    super({
      ...options,
      authority: options.context.authority,
      action: 'Restart',
      disruptsFor: 'MachineType',
      by: operation.uid,
      turn,
      note,
      deadlineMs,
      atOnce,
    });
    this.#in = options;
    this.#atOnce = atOnce;
    this.#context = options.context;
    this.#tally = structuredClone(pick(options.request, TALLIED));
  }

  protected isAbout({ kind, namespace, name, change }: Changed): boolean {
    const { rules, snapshot } = this.#context;
    if (kind === 'pool') return rules.scope.isWithin(namespace);
    if (looksTheSame<object>(change.before, change.after)) return false;
    const key = `${namespace}/${name}`;
    const vm = snapshot.vmOf(key);
    return this.#concerned.has(key) || (vm !== undefined && transitionNeed(rules, vm, snapshot).need !== 'nothing');
  }

  /** Another transition may have ended, too. */
  override concerns(change: CacheChange): boolean {
    if (super.concerns(change)) return true;
    return change.kind === 'operation' && this.#context.others.has((change.after ?? change.before)!.metadata.uid);
  }

  protected keep(outcome: PowerOutcome): void {
    addOutcome(this.#tally, outcome);
  }

  /** While it is paused, it still follows what owners do. */
  protected whyStopped(held: RunChanges['held']): string | null {
    const { failed } = this.#tally;
    this.#isEnding =
      held?.isOver === true || isFullOf(failed) || mayFail(this.#tally, this.#context.rules.transition) < 0;
    return this.#isEnding ? 'no further VM may be touched' : null;
  }

  protected progress({ counts, skipped, full }: TransitionPlan): TransitionProgress {
    const inProgress = [...this.acting];
    const now = { counts, skipped, full, inProgress, paused: null, aborted: null };
    return transitionProgress(this.#tally, {
      ...now,
      phase: isAtWork(now) ? 'Changing' : 'Waiting',
      transition: this.#context.rules.transition,
    });
  }

  protected async plan(look: RunLook): Promise<TransitionPlan> {
    const plan = await this.#planNow(look);
    if (this.#hasSeenAll || this.#isEnding || plan.open + this.acting.size > 0) return plan;
    // There may be VMs that this worker has not heard of yet.
    await this.#in.cache.catchUp(this.#in.request.asOf, { ...this.#in.request.operation, areOfOthers: true });
    this.#hasSeenAll = true;
    return this.#planNow(look);
  }

  async #planNow({ ended, mayStart, now }: RunLook): Promise<TransitionPlan> {
    const { request, contexts, onLook } = this.#in;
    const { authority } = this.#context;
    this.#context = await contexts.of(request, authority);
    const plan = planTransition(this.#context.rules, this.#context.snapshot, {
      inProgress: this.acting,
      failed: this.#tally.failed,
      maxRestarts: this.#atOnce,
      mayStart,
      isEnding: this.#isEnding,
      isEligible: (vm) => !ended.has(`${vm.namespace}/${vm.name}`) && this.power.held.whyNot(vm, now) === null,
      now,
    });
    this.#concerned = plan.concerned;
    this.#limited = plan.limited;
    // Which VMs count may change with each look.
    this.countAnew();
    onLook?.(operationName(request.operation), plan.counts);
    return plan;
  }

  protected reportOf({ counts }: TransitionPlan): unknown {
    return counts;
  }

  /** Marks may stay while VMs are restarted, and are cleared with later ones. */
  protected override dueAt({ patch, check, failures, unlabel, admitted }: TransitionPlan, now: number): number {
    const isFirst = this.#isFirst;
    this.#isFirst = false;
    const isBusy = this.acting.size + admitted.length > 0 && unlabel.length < MAX_TO_CHANGE;
    const isWork = patch.length + check.length + failures.length + (isBusy ? 0 : unlabel.length) > 0;
    if (!isWork) return Infinity;
    const isEnough = Math.max(patch.length, unlabel.length) >= MAX_TO_CHANGE || check.length > 0;
    // What the first look finds is left over from the turn before.
    return isEnough || (isFirst && patch.length > 0) ? now : this.beganAt + TURN_MS;
  }

  protected *recorded(): Iterable<string> {
    const { rules, snapshot } = this.#context;
    const { turn, operation } = this.#in.request;
    for (const vm of snapshot.vms())
      if (vm.power?.turn === turn && vm.power.by === operation.uid && rules.scope.isWithin(vm.namespace))
        yield namespacedName(vm);
  }

  protected get limited(): ReadonlySet<string> {
    return this.#limited;
  }

  protected whyNotMeant(vm: VmView, live: Parameters<VmPowerOptions['whyNotAnyMore']>[1]): string | null {
    const isMeant = transitionNeed(this.#context.rules, vm, live).need === 'restart';
    return isMeant ? null : 'its machine type has changed since';
  }

  protected override verify(vm: VmView, live: VmiView): Verification {
    return verificationOf(this.#context.rules, vm, live);
  }
}

/** The operation says how many, whatever the run was started with; the run says which VMs a percentage refers to. */
function atOnceIn({ cache, context: { rules }, request }: TransitionMethodOptions): number {
  let within = 0;
  for (const { namespace } of cache.vms.values()) if (rules.scope.isWithin(namespace)) within++;
  return Math.min(request.maxRestarts, countOf(rules.transition.maxRestarts, within, 1));
}
