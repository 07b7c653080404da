import { DRAIN_LABEL } from '../../api/labels-and-annotations.ts';
import type { Chosen } from '../../decisions/disruption-budget/restart-budget.ts';
import { pick } from '../../decisions/lib/json.ts';
import type { RunLimits } from '../../decisions/operations/limits.ts';
import { ACTION_LABELS } from '../../decisions/power/action.ts';
import type { PowerOutcome } from '../../decisions/power/outcome.ts';
import { planPower, type PowerPlan } from '../../decisions/power/plan.ts';
import {
  addOutcome,
  isTripped,
  powerProgress,
  TALLIED,
  type PowerProgress,
  type PowerTally,
} from '../../decisions/power/progress.ts';
import { isAboutVmi } from '../../decisions/power/target.ts';
import { hasIndex } from '../../decisions/runs/index-set.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { Changed } from '../cache/changes.ts';
import type { Change } from '../changes/vm-changer.ts';
import type { Authority } from '../operations/authority.ts';
import type { ChosenVms } from '../operations/chosen-vms.ts';
import { limitsOver, whyExcludedBy } from './excluded-vms.ts';
import type { ChangePowerRequest, RunChanges } from './request.ts';
import { RunMethod, type RunLook, type RunMethodOptions } from './run-method.ts';
import type { VmPowerOptions } from './vm-power.ts';

/** Of operations by which VMs leave a node that is drained. */
const DRAINS = { disruptsFor: 'Drain' } as const;

interface PowerMethodOptions
  extends Pick<VmPowerOptions, 'client' | 'cache' | 'claims' | 'note'>, Pick<RunMethodOptions, 'tell'> {
  request: ChangePowerRequest;
  authority: Authority;
  /** What `Patch` does. */
  change: Change | undefined;
  chosen: ChosenVms;
}

/** Starts, stops, restarts, migrates or changes the chosen VMs of an operation. */
export class PowerMethod extends RunMethod<PowerPlan> {
  readonly #in: PowerMethodOptions;
  readonly #limits: RunLimits;
  readonly #tally: PowerTally;
  readonly #chosen: Chosen;
  /** Chosen VMs that are not taken again, by `namespace/name`. */
  readonly #ended: ReadonlySet<string>;
  readonly #namespaces: ReadonlySet<string>;
  /** Why a VM is not to be touched, ever; null if the operation is about it. */
  readonly #whyExcluded: ReturnType<typeof whyExcludedBy>;

  constructor(options: PowerMethodOptions) {
    const { authority, cache, change, chosen, request } = options;
    const { targets, indexOf } = chosen;
    const limits = limitsOver(cache, authority.operation, targets, request.deadlineMs);
    const isDrain = isAboutVmi(request.action) && authority.operation?.metadata.labels?.[DRAIN_LABEL] !== undefined;
    const disruptsFor = isDrain ? DRAINS : {};
    super({ ...options, ...limits, ...disruptsFor, action: request.action, by: request.operation.uid, change });
    this.#in = options;
    this.#limits = limits;
    this.#tally = structuredClone(pick(request, TALLIED));
    this.#chosen = targets;
    this.#ended = new Set([...targets.keys()].filter((key) => hasIndex(request.ended, indexOf(key)!)));
    this.#namespaces = new Set([...targets.keys()].map((key) => key.slice(0, key.indexOf('/'))));
    this.#whyExcluded = whyExcludedBy(cache, authority.operation);
  }

  /** How long a VM may take, in milliseconds. */
  get deadlineMs(): number {
    return this.#limits.deadlineMs;
  }

  /** As the workflow takes it in, which does not know the VMs. */
  protected override settled(outcome: PowerOutcome): PowerOutcome {
    const index = this.#in.chosen.indexOf(outcome.vm);
    return index === undefined ? outcome : { ...outcome, index };
  }

  protected keep(outcome: PowerOutcome): void {
    addOutcome(this.#tally, this.#in.request.action, outcome);
  }

  protected whyStopped(held: RunChanges['held']): string | null {
    return held?.why ?? (isTripped(this.#tally, this.#limits.maxFailures) ? 'too many have failed' : null);
  }

  protected progress({ open, skipped, full }: PowerPlan): PowerProgress {
    const { request } = this.#in;
    const now = { open, skipped, full, inProgress: [...this.acting], paused: null, aborted: null };
    const phase = ACTION_LABELS[request.action].doing;
    return powerProgress({ ...request, ...this.#limits }, this.#in.chosen.count, this.#tally, { ...now, phase });
  }

  protected plan({ ended, mayStart, now }: RunLook): PowerPlan {
    const { request, authority } = this.#in;
    return planPower({
      action: request.action,
      chosen: this.#chosen,
      snapshot: this.snapshot,
      counted: this.counted,
      inProgress: this.acting,
      ended: this.#ended.union(ended),
      whyNot: (vm) => this.power.held.whyNot(vm, now),
      whyExcluded: this.#whyExcluded,
      atOnce: this.#limits.atOnce,
      restarts: this.#in.change?.restarts === true,
      mayStart,
      windows: authority.windows,
      order: authority.operation?.spec.order,
      now,
    });
  }

  protected isAbout({ namespace }: Changed): boolean {
    return this.#namespaces.has(namespace);
  }

  protected reportOf(): unknown {
    return [...this.acting].sort();
  }

  protected *recorded(): Iterable<string> {
    for (const key of this.#chosen.keys()) if (!this.#ended.has(key)) yield key;
  }

  protected get limited(): Chosen {
    return this.#chosen;
  }

  protected whyNotMeant(vm: VmView, { vmiOf }: Parameters<VmPowerOptions['whyNotAnyMore']>[1]): string | null {
    return this.#whyExcluded(vm, vmiOf(vm));
  }
}
