import { CountedVms } from '../../decisions/disruption-budget/counted-vms.ts';
import { RunBudget, type Chosen, type VmsSnapshot } from '../../decisions/disruption-budget/restart-budget.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { OperationProgress } from '../../decisions/operations/action-report.ts';
import {
  deadlineOf,
  outcomeOf,
  type PowerOutcome,
  type Verification,
  type VmInProgress,
} from '../../decisions/power/outcome.ts';
import { fitting } from '../../decisions/power/payload-bytes.ts';
import type { AdmittedVm } from '../../decisions/power/plan.ts';
import { isAboutVmi, targetOfVmi } from '../../decisions/power/target.ts';
import type { Skipped } from '../../decisions/runs/skipped.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import { ofMembers, type Changed } from '../cache/changes.ts';
import type { CacheChange } from '../cache/objects/cache-change.ts';
import { claimant, NotAdmitted } from '../disruption-budget/claim.ts';
import type { DisruptionMethod, Followed, Turn, WaveOptions, WaveProgress, WaveStop } from '../disruption/method.ts';
import { runWave } from '../disruption/wave.ts';
import { isCancelRequested } from '../lib/current-attempt.ts';
import { digestOf } from '../lib/digest.ts';
import type { Authority } from '../operations/authority.ts';
import type { RunChanges, RunRequest } from './request.ts';
import { snapshotOfVms } from './snapshot-of-vms.ts';
import { VmPower, type PowerVm, type VmPowerOptions } from './vm-power.ts';

export interface RunMethodOptions extends Omit<VmPowerOptions, 'whyNotAnyMore' | 'pastBudgets'> {
  request: RunRequest;
  authority: Authority;
  /** How long a VM may take, in milliseconds. */
  deadlineMs: number;
  /** How many of the counted VMs may be not ready at once in a restart. */
  atOnce: number;
  /** Called with how the operation stands, as each look finds it. */
  tell: (progress: OperationProgress) => void;
}

/** What a look has found, in addition to VMs that are acted on, in progress, or have an outcome. */
interface RunPlan {
  admitted: AdmittedVm[];
  /** How many VMs something is still to be done to, or waited for. */
  open: number;
  skipped: Skipped[];
  /** What the waiting VMs wait for. */
  full: string[];
  /** When the window opens that VMs wait for, in milliseconds since the epoch; null if they wait for none. */
  opensAt: number | null;
}

export interface RunLook {
  ended: ReadonlySet<string>;
  /** Whether further VMs may be taken. */
  mayStart: boolean;
  now: number;
}

/** What a run that users have started does to VMs, and how it follows them, whatever it is that chooses them. */
export abstract class RunMethod<Plan extends RunPlan> implements DisruptionMethod<PowerVm, PowerOutcome, VmInProgress> {
  protected readonly snapshot: VmsSnapshot;
  /** VMs that are acted on, or on their way, by `namespace/name`. */
  protected acting = new Set<string>();
  protected readonly power: VmPower;
  protected readonly beganAt = Date.now();
  readonly #in: RunMethodOptions;
  /** What the API server fails with. */
  #trouble: string | null = null;
  #found: { plan: Plan; digest: string } | undefined;
  #counted: CountedVms | undefined;
  #held: RunChanges['held'] = null;
  /** How many outcomes are kept. */
  #kept = 0;

  constructor(options: RunMethodOptions) {
    this.#in = options;
    this.snapshot = snapshotOfVms(options.cache);
    const whyNotAnyMore: VmPowerOptions['whyNotAnyMore'] = (vm, live) =>
      options.authority.whyNotNow() ?? this.whyNotMeant(vm, live) ?? this.#whyNoRoom(vm, live.vmiOf(vm));
    const pastBudgets = options.authority.operation?.spec.pastBudgets === true;
    this.power = new VmPower({ ...options, pastBudgets, whyNotAnyMore });
  }

  stop(outcomes: readonly PowerOutcome[]): WaveStop | null {
    const { authority } = this.#in;
    for (const outcome of outcomes.slice(this.#kept)) this.keep(outcome);
    this.#kept = outcomes.length;
    const why = authority.whyHeld();
    this.#held = why === null ? null : { why, isOver: authority.whyOver() !== null };
    const message = this.whyStopped(this.#held);
    return message === null ? null : { stop: 'stopped', message };
  }

  /** Takes in what has become of a VM. */
  protected abstract keep(outcome: PowerOutcome): void;

  /** Why the run waits for no VM but for those in progress; null if it waits for others. */
  protected abstract whyStopped(held: RunChanges['held']): string | null;

  /** How the operation stands. */
  protected abstract progress(plan: Plan): OperationProgress;

  protected abstract plan(look: RunLook): Plan | Promise<Plan>;

  /** What to report of the plan, in addition to what it skips and waits for. */
  protected abstract reportOf(plan: Plan): unknown;

  /** When others must learn of what was found, though no VM has an outcome; milliseconds since the epoch. */
  protected dueAt(_plan: Plan, _now: number): number {
    return Infinity;
  }

  /** Whether a change of a pool, a VM or a VMI may matter. */
  protected abstract isAbout(changed: Changed): boolean;

  /** VMs that this run may have marked as being acted on, and that it has not reported yet. */
  protected abstract recorded(): Iterable<string>;

  /** VMs that count against the limit of a restart, by `namespace/name`. */
  protected abstract get limited(): Chosen | ReadonlySet<string>;

  /** Why the VM, as the API server has it, must no longer be acted on; null if it may. */
  protected abstract whyNotMeant(...of: Parameters<VmPowerOptions['whyNotAnyMore']>): string | null;

  /** Returns an outcome as the workflow takes it in. */
  protected settled(outcome: PowerOutcome): PowerOutcome {
    return outcome;
  }

  /** Judges a VMI that is ready after its restart. */
  protected verify(_vm: VmView, _live: VmiView): Verification {
    return { is: 'well' };
  }

  get minVersions(): ResourceVersions {
    return this.power.minVersions;
  }

  /** By `namespace/name`, its VMs have their names already. */
  keyOf(name: string): string {
    return name;
  }

  concerns(change: CacheChange): boolean {
    return this.#isOfMembers(change) || this.#in.authority.concerns(change);
  }

  readonly #isOfMembers = ofMembers((changed) => {
    this.#counted?.changed(`${changed.namespace}/${changed.name}`);
    return this.isAbout(changed);
  });

  protected get counted(): CountedVms {
    return (this.#counted ??= new CountedVms(this.limited, this.snapshot));
  }

  /** Called if other VMs are `limited` now. */
  protected countAnew(): void {
    this.#counted = undefined;
  }

  /**
   * Acts on VMs, and follows them, until there is something to tell. Returns that, with what the last look has found,
   * and for how long nothing has been in progress, in milliseconds.
   */
  async carryOut(
    options: WaveOptions,
    operationVersion: RunChanges['operationVersion'],
  ): Promise<{ changes: RunChanges; plan: Plan; idledMs: number }> {
    const { outcomes, begun, isOver, idledMs, minVersions } = await runWave(this, options);
    if (isOver) this.#in.claims.leave(claimant());
    const { plan, digest } = this.#found!;
    const settled = outcomes.map((outcome) => this.settled(outcome));
    const inProgress = begun.map(({ vm, since }) => ({ vm, since }));
    const held = this.#held;
    return { changes: { settled, inProgress, isOver, held, digest, minVersions, operationVersion }, plan, idledMs };
  }

  get known(): { begun: { item: PowerVm; begun: VmInProgress }[]; halfDone: PowerVm[] } {
    const begun = this.#in.request.inProgress.map(({ vm, since }) => {
      const one = { ...this.power.begunWith(vm, this.snapshot.vmOf(vm), since), since };
      return { item: this.#itemOf(one), begun: one };
    });
    const names = new Set(begun.map(({ item }) => item.name));
    return {
      begun,
      halfDone: fitting(
        this.#unreported((key) => names.has(key)),
        names,
      ),
    };
  }

  /** VMs that this run has acted on, and not reported, in an attempt that was lost. */
  #unreported(isKnown: (key: string) => boolean): PowerVm[] {
    return [...this.recorded()].flatMap((key) => {
      const vm = isKnown(key) ? undefined : this.snapshot.vmOf(key);
      if (vm === undefined || !this.power.hasActedOn(vm, this.snapshot.vmiOf(vm))) return [];
      return [this.#itemOf(this.power.begunWith(key, vm, this.beganAt))];
    });
  }

  async turn({ busy, ended, mayStart }: WaveProgress, now: number): Promise<Turn<PowerVm>> {
    const unreported = this.#unreported((key) => busy.has(key) || ended.has(key));
    this.acting = new Set([...busy, ...unreported.map(({ name }) => name)]);
    const held = this.#held;
    const found = await this.plan({ ended, mayStart: mayStart && held === null, now });
    const full = [...found.full, ...[held?.why, this.#trouble].filter((message) => typeof message === 'string')];
    const digest = digestOf([this.reportOf(found), found.skipped, full]);
    const plan = { ...found, full };
    this.#found = { plan, digest };
    const { request, tell, claims } = this.#in;
    if (held !== null || !mayStart) claims.leave(claimant());
    tell(this.progress(plan));
    const newsAt = digest === request.digest ? Infinity : this.beganAt + request.reportMs;
    const next = [...unreported, ...plan.admitted.map((admitted) => this.#itemOf(admitted))];
    return {
      next: fitting(next, busy),
      waiting: [],
      open: plan.open + unreported.length,
      whyNot: full.join(', '),
      dueAt: Math.min(this.dueAt(plan, now), newsAt),
      isTimed: plan.opensAt !== null || this.power.held.isTimed(now),
      times: [...(plan.opensAt === null ? [] : [plan.opensAt]), ...this.power.held.times],
    };
  }

  begin({ name, admitted }: PowerVm, now: number, isNew: boolean): VmInProgress {
    this.acting.add(name);
    return isNew ? { ...admitted, since: now } : this.power.begunWith(name, this.snapshot.vmOf(name), now);
  }

  async execute(item: PowerVm, begun: VmInProgress): Promise<PowerOutcome | NotAdmitted | null> {
    if (await isCancelRequested()) return new NotAdmitted('another request has replaced this one');
    try {
      const outcome = await this.power.execute(item, begun);
      this.#trouble = null;
      return outcome === null || outcome instanceof NotAdmitted ? outcome : withUid(outcome, begun);
    } catch (error) {
      this.#trouble = `the API server fails: ${(error as Error).message}`;
      throw error;
    }
  }

  follow(_item: PowerVm, begun: VmInProgress, now: number): Promise<Followed<PowerOutcome>> {
    const { action, by, deadlineMs } = this.#in;
    const verify = (vm: VmView, live: VmiView): Verification => this.verify(vm, live);
    const input = { action, by, snapshot: this.snapshot, deadlineMs, verify, now };
    const outcome = outcomeOf(begun, input);
    return Promise.resolve({
      outcome: outcome && withUid(outcome, begun),
      isLate: outcome?.end === 'Failed',
      times: [deadlineOf(begun, input)],
    });
  }

  /** What is not waited for stays to be done, or in progress. */
  givenBack(): null {
    return null;
  }

  isNews({ end }: PowerOutcome): boolean {
    return end === 'Failed';
  }

  /**
   * Returns why a restart or a migration would go beyond the run's own limit. The VM itself counts as it is now: it may
   * have come up since it was cached.
   */
  #whyNoRoom(vm: VmView, vmi: VmiView | undefined): string | null {
    const { action, change, atOnce: most } = this.#in;
    if (!isAboutVmi(action) && change?.restarts !== true) return null;
    const { vmOf, vmiOf } = this.snapshot;
    const snapshot: VmsSnapshot = { vmOf, vmiOf: (one) => (one === vm ? vmi : vmiOf(one)), poolOf: () => undefined };
    const { counted, acting: inProgress } = this;
    return new RunBudget({ keepsAvailable: true, counted, snapshot, inProgress, most, now: Date.now() }).whyNot(vm);
  }

  #itemOf(admitted: AdmittedVm): PowerVm {
    const { action } = this.#in;
    const { vm: name, uid, vmi = '', pod = null } = admitted;
    return { name, target: isAboutVmi(action) ? targetOfVmi(action, { uid: vmi, pod }) : uid, admitted };
  }
}

const withUid = (outcome: PowerOutcome, { uid }: VmInProgress): PowerOutcome =>
  outcome.end === 'Failed' ? { ...outcome, uid } : outcome;
