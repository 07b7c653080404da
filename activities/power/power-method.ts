import { RestartBudget, type Chosen, type VmsSnapshot } from '../../decisions/disruption-budget/restart-budget.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { RunLimits } from '../../decisions/operations/limits.ts';
import type { PowerAction } from '../../decisions/power/action.ts';
import { deadlineOf, outcomeOf, type PowerOutcome, type VmInProgress } from '../../decisions/power/outcome.ts';
import { planPower, type PowerPlan } from '../../decisions/power/plan.ts';
import { isTripped } from '../../decisions/power/progress.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import { NoPlace } from '../disruption-budget/in-place.ts';
import type { Aside, DisruptionMethod, Followed, Turn, WaveProgress, WaveStop } from '../disruption/method.ts';
import { isAskedToEnd } from '../lib/attempt.ts';
import { digestOf } from '../lib/digest.ts';
import type { Authority } from './authority.ts';
import type { ChangePowerRequest } from './request.ts';
import { snapshotOfVms, VmPower, type PowerVm, type VmPowerOptions } from './vm-power.ts';

export interface PowerMethodOptions extends Pick<VmPowerOptions, 'client' | 'cache' | 'places'> {
  request: ChangePowerRequest;
  authority: Authority;
  chosen: Chosen;
  /** Note of the Events on the VMs. */
  note: string;
}

/** Starts, stops or restarts the chosen VMs of a run, and follows them. */
export class PowerMethod implements DisruptionMethod<PowerVm, PowerOutcome, VmInProgress> {
  readonly #in: PowerMethodOptions;
  readonly #action: PowerAction;
  readonly #limits: RunLimits;
  readonly #snapshot: VmsSnapshot;
  readonly #power: VmPower;
  /** VMs that are acted on, or on their way, by `namespace/name`. */
  #acting = new Set<string>();
  readonly #beganAt = Date.now();
  /** What the API server fails with. */
  #trouble: string | null = null;
  #plan: PowerPlan & { digest: string } = { take: [], open: 0, skipped: [], full: [], digest: '' };

  constructor(options: PowerMethodOptions) {
    this.#in = options;
    this.#action = options.request.action;
    this.#limits = options.authority.limits(options.chosen);
    this.#snapshot = snapshotOfVms(options.cache);
    const whyNotAnyMore: VmPowerOptions['whyNotAnyMore'] = (vm, { vmiOf }) => this.#whyNotAnyMore(vm, vmiOf(vm));
    const { uid } = options.request.operation;
    this.#power = new VmPower({ ...options, action: this.#action, by: uid, whyNotAnyMore });
  }

  /** What a cache must have reached to show what was done. */
  get minVersions(): ResourceVersions {
    return this.#power.minVersions;
  }

  /** How long a VM may take, in milliseconds. */
  get deadlineMs(): number {
    return this.#limits.deadlineMs;
  }

  /** What the last look has found, beside VMs that are on their way or have an outcome. */
  get found(): Pick<PowerPlan, 'open' | 'skipped' | 'full'> & { digest: string } {
    const { open, skipped, full, digest } = this.#plan;
    return { open, skipped, full, digest };
  }

  /** Those that an earlier call has returned as in progress. */
  get begun(): { held: PowerVm; begun: VmInProgress }[] {
    const { inProgress } = this.#in.request;
    return inProgress.map(({ vm, since }) => {
      const begun = { ...this.#power.begunWith(vm, this.#snapshot.vmOf(vm), since), since };
      return { held: this.#heldOf(begun), begun };
    });
  }

  /** Those that this run has acted on, and not told of: with an attempt that was lost. */
  leftOver(isKnown: (key: string) => boolean): PowerVm[] {
    const { chosen, request } = this.#in;
    const ended = new Set(request.ended);
    return [...chosen.keys()].flatMap((key) => {
      const vm = isKnown(key) || ended.has(key) ? undefined : this.#snapshot.vmOf(key);
      if (vm === undefined || !this.#power.hasActedOn(vm, this.#snapshot.vmiOf(vm))) return [];
      return [this.#heldOf(this.#power.begunWith(key, vm, this.#beganAt))];
    });
  }

  stop(outcomes: readonly PowerOutcome[]): WaveStop | null {
    const { takes, failures } = this.#in.request;
    const mayFail = this.#limits.maxFailures - failures;
    const failed = outcomes.filter(({ end }) => end === 'Failed').map((one) => ({ ...one, why: '' }));
    if (takes && !isTripped(failed, mayFail)) return null;
    return { stop: 'stopped', why: takes ? 'too many have failed' : 'no further VM may be touched' };
  }

  turn({ busy, ended, takes }: WaveProgress, now: number): Turn<PowerVm> {
    const { request, chosen, authority } = this.#in;
    const held = authority.whyHeld();
    const leftOver = this.leftOver((key) => busy.has(key) || ended.has(key));
    const inProgress = new Set([...busy, ...leftOver.map(({ name }) => name)]);
    this.#acting = inProgress;
    const plan = planPower({
      action: this.#action,
      chosen,
      snapshot: this.#snapshot,
      inProgress,
      ended: new Set([...request.ended, ...ended]),
      whyNot: (vm) => this.#power.whyRefused(vm, now),
      whyExcluded: (vm, vmi) => authority.whyExcluded(vm, vmi),
      atOnce: this.#limits.atOnce,
      takes: takes && held === null,
      now,
    });
    const full = [...plan.full, ...[held, this.#trouble].filter((why) => why !== null)];
    const digest = digestOf([[...inProgress].sort(), plan.skipped, full]);
    this.#plan = { ...plan, full, digest };
    return {
      next: [...leftOver, ...plan.take.map((taken) => this.#heldOf(taken))],
      waiting: [],
      open: plan.open + leftOver.length,
      whyNot: full.join(', '),
      dueAt: digest === request.digest ? Infinity : this.#beganAt + request.reportMs,
      times: this.#power.times,
    };
  }

  begin({ name, taken }: PowerVm, now: number, isNew: boolean): VmInProgress {
    this.#acting.add(name);
    return isNew ? { ...taken, since: now } : this.#power.begunWith(name, this.#snapshot.vmOf(name), now);
  }

  async take(held: PowerVm, begun: VmInProgress, aside: Aside): Promise<PowerOutcome | NoPlace | null> {
    if (await isAskedToEnd()) return new NoPlace('somebody has asked for something else');
    try {
      const outcome = await this.#power.take(held, begun);
      this.#trouble = null;
      // Whoever follows it must have seen what was done.
      if (outcome === null) await aside(this.#in.cache.catchUp(this.minVersions));
      return outcome;
    } catch (error) {
      this.#trouble = `the API server fails: ${(error as Error).message}`;
      throw error;
    }
  }

  follow(_held: PowerVm, begun: VmInProgress, now: number): Promise<Followed<PowerOutcome>> {
    const { deadlineMs } = this;
    const input = { action: this.#action, snapshot: this.#snapshot, deadlineMs, now };
    const outcome = outcomeOf(begun, input);
    return Promise.resolve({ outcome, isLate: outcome?.end === 'Failed', times: [deadlineOf(begun, input)] });
  }

  /** What is not waited for stays to be done, or in progress. */
  givenBack(): null {
    return null;
  }

  isNews({ end }: PowerOutcome): boolean {
    return end === 'Failed';
  }

  /** As the operation is now, and the VM. */
  #whyNotAnyMore(vm: VmView, vmi: VmiView | undefined): string | null {
    const { authority } = this.#in;
    return authority.whyHeld() ?? authority.whyExcluded(vm, vmi) ?? this.#whyNoRoom(vm, vmi);
  }

  /**
   * Returns why a restart would go beyond the run's own limit. The VM itself counts as it is now: it may have come up
   * since it was cached.
   */
  #whyNoRoom(vm: VmView, vmi: VmiView | undefined): string | null {
    if (this.#action !== 'Restart') return null;
    const { vmOf, vmiOf } = this.#snapshot;
    const snapshot: VmsSnapshot = { vmOf, vmiOf: (one) => (one === vm ? vmi : vmiOf(one)), poolOf: () => undefined };
    const counted = this.#in.chosen.keys();
    const maxUnavailable = this.#limits.atOnce;
    const inProgress = this.#acting;
    return new RestartBudget({ counted, snapshot, inProgress, maxUnavailable, now: Date.now() }).whyNot(vm);
  }

  #heldOf(taken: PowerVm['taken']): PowerVm {
    return { name: taken.vm, target: this.#in.chosen.get(taken.vm)!, taken };
  }
}
